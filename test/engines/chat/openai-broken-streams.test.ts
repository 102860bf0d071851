import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ChatEvent } from '../../../server/engines/chat/contract.ts'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import type { EngineErrorKind } from '../../../server/engines/engine-error.ts'
import { chunk, type UpstreamReply } from '../../support/upstream/chat-upstream.ts'
import { assertEventOrder, live } from './contract.ts'
import { cut, error, faultOf, frames, LEAK_MARKER, status, streamed, withEngine } from './faulty-server.ts'

/** What goes wrong in the middle: the events before it still come. */
const BREAKS: Array<[what: string, reply: UpstreamReply, fault: EngineErrorKind]> = [
  ['a reset', frames([chunk({ content: 'Hel' })], { done: false, finally: 'reset' }), 'failed'],
  ['an end without finish_reason', frames([chunk({ content: 'Hel' })]), 'failed'],
  ['an end without finish_reason and [DONE]', frames([chunk({ content: 'Hel' })], { done: false }), 'failed'],
  [
    'a [DONE] from nowhere',
    frames([chunk({ content: 'Hel' }), 'data: [DONE]\n\n', chunk({}, { finish_reason: 'stop' })]),
    'failed',
  ],
  ['silence', frames([chunk({ content: 'Hel' })], { done: false, finally: 'stall' }), 'timeout'],
  ['an error event', frames([chunk({ content: 'Hel' }), error(500)]), 'failed'],
  [
    'an error event after the reason',
    frames([chunk({ content: 'Hel' }), chunk({}, { finish_reason: 'stop' }), error(500)]),
    'failed',
  ],
  ['an error event of no capacity', frames([chunk({ content: 'Hel' }), error('overloaded')]), 'overloaded'],
  ['a refusal that comes too late', frames([chunk({ content: 'Hel' }), error(400)]), 'failed'],
  ['truncated JSON', frames([chunk({ content: 'Hel' }), `data: ${cut}\n\n`]), 'failed'],
  ['a line of 2 MB', frames([chunk({ content: 'Hel' }), `data: ${'x'.repeat(2_000_000)}\n\n`]), 'failed'],
  [
    'a tool call without a name',
    frames([
      chunk({ content: 'Hel' }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, { finish_reason: 'tool_calls' }),
    ]),
    'failed',
  ],
]

for (const [what, reply, fault] of BREAKS) {
  test(`${fault} in mid-stream: ${what}`, () =>
    withEngine(fault === 'timeout' ? { idle_seconds: 0.3 } : {}, async ({ engine, upstream }) => {
      upstream.reply(reply)
      const events: ChatEvent[] = []
      const broken = await faultOf(collect(await engine.generate(streamed, live()), events))
      assert.equal(broken.kind, fault)
      assert.deepEqual(events[0], { type: 'text-delta', choice: 0, text: 'Hel' })
      assert.ok(!events.some(({ type }) => type === 'end'))
    }))
}

test('timeout: an answer that trickles in forever is ended at the total limit', () =>
  withEngine({ idle_seconds: 5, total_seconds: 0.5 }, async ({ engine, upstream }) => {
    upstream.reply({ kind: 'flood', frame: chunk({ content: 'x' }) })
    const answer = engine.generate(streamed, live()).then((events) => collect(events, []))
    const broken = await faultOf(answer)
    assert.equal(broken.kind, 'timeout')
    await upstream.left()
  }))

test('an answer whose choices have all finished is complete, whatever happens then', () =>
  withEngine({ idle_seconds: 0.3 }, async ({ engine, upstream }) => {
    const finished = [chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop' })]
    const cases = [
      { done: false },
      { done: false, finally: 'reset' },
      { done: false, finally: 'stall' },
      { finally: 'stall' },
    ]
    for (const more of cases) {
      upstream.reply(frames(finished, more))
      const events: ChatEvent[] = []
      await collect(await engine.generate(streamed, live()), events)
      assertEventOrder(events, 1)
      assert.deepEqual(events.at(-1), { type: 'end', usage: null })
    }
  }))

test('after a hundred broken calls no connection is left open but those that can be used again', () =>
  withEngine({}, async ({ engine, upstream }) => {
    const broken: UpstreamReply[] = [
      { kind: 'reset' },
      status(500, 'x'.repeat(200_000)),
      frames([chunk({ content: 'a' })], { done: false, finally: 'stall' }),
      frames([`data: ${LEAK_MARKER}\n\n`]),
    ]
    for (let i = 0; i < 100; i++) {
      upstream.reply(broken[i % broken.length]!)
      const leaving = new AbortController()
      await engine
        .generate(streamed, leaving.signal)
        .then((events) => events[Symbol.asyncIterator]().next())
        .catch(() => {})
      leaving.abort()
    }
    const events: ChatEvent[] = []
    await collect(await engine.generate(streamed, live()), events)
    assertEventOrder(events, 1)
    while (upstream.connections().open > 2) await new Promise((resolve) => setImmediate(resolve))
  }))

test('a compressed answer with more behind its end than is read leaves no connection open', async (t) => {
  const events = [chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop' })]
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const bytes = gzipSync(`${text}data: [DONE]\n\n: ${randomBytes(4_000_000).toString('base64')}\n\n`)
  let open = 0
  const server = createServer((request, response) => {
    open += 1
    response.once('close', () => {
      open -= 1
    })
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(bytes)
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close().closeAllConnections())
  await once(server, 'listening')
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const engine = openaiChat({ kind: 'openai', base_url })
  t.after(() => engine.close?.())
  const answers = Array.from({ length: 40 }, async () => {
    const read: ChatEvent[] = []
    await collect(await engine.generate(streamed, live()), read)
    assertEventOrder(read, 1)
  })
  await Promise.all(answers)
  while (open > 0) await new Promise((resolve) => setImmediate(resolve))
})

async function collect(events: AsyncIterable<readonly ChatEvent[]>, into: ChatEvent[]): Promise<void> {
  for await (const batch of events) into.push(...batch)
}
