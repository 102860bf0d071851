import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../../server/engines/chat/contract.ts'

/** `asks` are requests the engine can answer beside the plain ones, such as one with tools. */
export type ChatEngineUnderTest = { engine: ChatEngine; model: string; asks?: ChatRequest[]; close?(): Promise<void> }

/** What every chat engine promises, run on one adapter. `open` gives an engine that answers any request with some text. */
export function chatEngineContract(name: string, open: () => Promise<ChatEngineUnderTest>): void {
  const using = (body: (subject: ChatEngineUnderTest) => Promise<void>) => async () => {
    const subject = await open()
    try {
      await body(subject)
    } finally {
      await subject.engine.close?.()
      await subject.close?.()
    }
  }

  for (const stream of [false, true]) {
    const kind = stream ? 'streamed' : 'plain'
    test(
      `${name}: a ${kind} answer is emitted in order: every choice finishes once, then one end`,
      using(async ({ engine, model, asks = [] }) => {
        for (const request of [textRequest(model, { stream }), ...asks.map((ask) => ({ ...ask, stream }))]) {
          const events = await allEvents(engine, request)
          assertEventOrder(events, request.n)
          assert.ok(events.some(isContent), 'the answer has content')
        }
      }),
    )

    test(
      `${name}: a ${kind} request for three choices gets three`,
      using(async ({ engine, model }) => {
        const events = await allEvents(engine, textRequest(model, { stream, n: 3 }))
        assertEventOrder(events, 3)
        const spoken = new Set(events.filter(isContent).map(({ choice }) => choice))
        assert.deepEqual([...spoken].sort(), [0, 1, 2])
      }),
    )
  }

  test(
    `${name}: usage is null or whole numbers, its parts within their totals`,
    using(async ({ engine, model }) => {
      const end = (await allEvents(engine, textRequest(model))).at(-1)
      assert.ok(end?.type === 'end')
      if (end.usage === null) return
      const { input, cached_input, output, reasoning } = end.usage
      for (const count of [input, cached_input, output, reasoning]) assert.ok(Number.isSafeInteger(count) && count >= 0)
      assert.ok(cached_input <= input && reasoning <= output)
    }),
  )

  test(
    `${name}: a request aborted before it was sent is never answered`,
    using(async ({ engine, model }) => {
      await assert.rejects(engine.generate(textRequest(model), AbortSignal.abort()))
    }),
  )

  test(
    `${name}: giving up in the middle ends the iteration without an end`,
    using(async ({ engine, model }) => {
      const leaving = new AbortController()
      const seen: ChatEvent[] = []
      const events = await engine.generate(textRequest(model, { stream: true }), leaving.signal)
      await assert.rejects(async () => {
        for await (const batch of events) {
          seen.push(...batch)
          leaving.abort()
        }
      })
      assert.ok(seen.length > 0)
      assert.ok(!seen.some(({ type }) => type === 'end'))
    }),
  )

  test(
    `${name}: leaving the iteration early leaves the engine able to answer`,
    using(async ({ engine, model }) => {
      for await (const _ of await engine.generate(textRequest(model, { stream: true }), live())) break
      assertEventOrder(await allEvents(engine, textRequest(model)), 1)
    }),
  )

  test(
    `${name}: answers many requests at once, each with its own`,
    using(async ({ engine, model }) => {
      const requests = Array.from({ length: 20 }, (_, i) => textRequest(model, { stream: i % 2 === 0 }))
      for (const events of await Promise.all(requests.map((request) => allEvents(engine, request))))
        assertEventOrder(events, 1)
    }),
  )
}

/** The invariants of `ChatEvent`: see server/engines/chat/contract.ts. */
export function assertEventOrder(events: readonly ChatEvent[], choices: number): void {
  const finished = new Set<number>()
  const calls = new Map<number, Set<number>>()
  for (const [i, event] of events.entries()) {
    if (event.type === 'end') {
      assert.equal(i, events.length - 1, 'the end comes last')
      continue
    }
    assert.ok(event.choice >= 0 && event.choice < choices, `choice ${event.choice} of ${choices}`)
    if (event.type === 'choice-usage') continue
    assert.ok(!finished.has(event.choice), `choice ${event.choice} goes on after its finish`)
    if (event.type === 'finish') finished.add(event.choice)
    if (event.type === 'tool-call-delta') assertCall(event, calls)
  }
  assert.equal(events.at(-1)?.type, 'end')
  assert.equal(finished.size, choices, 'every choice finishes')
}

export function textRequest(model: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model, n: 1, stream: false, messages: [{ role: 'user', content: 'Say something about the sea.' }], ...more }
}

/** Every event of one request. */
export async function allEvents(engine: ChatEngine, request: ChatRequest, signal = live()): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const batch of await engine.generate(request, signal)) events.push(...batch)
  return events
}

export function live(): AbortSignal {
  return new AbortController().signal
}

function assertCall(event: ChatEvent & { type: 'tool-call-delta' }, calls: Map<number, Set<number>>): void {
  const known = calls.get(event.choice) ?? new Set<number>()
  calls.set(event.choice, known)
  if (known.has(event.call)) {
    assert.ok(event.id === undefined && event.name === undefined, 'id and name come once')
    return
  }
  assert.equal(event.call, known.size, 'calls count from 0')
  assert.ok(event.id && event.name, 'the first delta of a call has its id and name')
  known.add(event.call)
}

function isContent(event: ChatEvent): event is ChatEvent & { choice: number } {
  return event.type !== 'finish' && event.type !== 'end'
}
