import assert from 'node:assert/strict'
import { isRecord, jsonIn } from '../../../platform/json/record.ts'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../chat/contract.ts'
import { EngineError } from '../../engine-error.ts'
import { type Check, NotApplicable } from '../check.ts'
import { ASKS_CITY, ASKS_SUM, ASKS_WEATHER, asksColor, CITY, WEATHER } from './asks.ts'
import { allEvents, assertEventOrder, isContent, textRequest } from './events.ts'

/**
 * `capabilities`: what the model's entry says it can. `choices`: whether several are asked for at all. `asks`: requests the engine can
 * answer beside the plain ones. `max_tokens` bounds what an answer costs.
 */
export type ChatSubject = {
  engine: ChatEngine
  model: string
  capabilities: ReadonlySet<string>
  choices: boolean
  /** An effort at which the model reasons; null when its entry lists none. */
  effort: string | null
  asks?: readonly ChatRequest[]
  max_tokens?: number
  /** How many requests are sent at once. */
  at_once: number
}

/** What every chat engine promises, and what its model's entry says that it can. */
export const CHAT_CHECKS: ReadonlyArray<Check<ChatSubject>> = [
  answers('plain', false),
  answers('streamed', true),
  severalChoices('plain', false),
  severalChoices('streamed', true),
  {
    title: 'reports usage in whole numbers, its parts within their totals',
    level: 'should',
    starts: 'a call',
    async run(subject, signal) {
      const end = (await eventsOf(subject, {}, signal)).at(-1)
      assert.ok(end?.type === 'end')
      if (end.usage === null)
        throw new NotApplicable('it reports none: the service counts tokens itself, approximately')
      const { input, cached_input, output, reasoning } = end.usage
      for (const count of [input, cached_input, output, reasoning])
        assert.ok(Number.isSafeInteger(count) && count >= 0, `a count of ${count} tokens`)
      assert.ok(cached_input <= input && reasoning <= output, 'a part that is larger than its total')
      assert.ok(input > 0 && output > 0, `${input} tokens of input and ${output} of output`)
      return `${input} tokens in, ${output} out`
    },
  },
  {
    title: 'reports the same usage for a stream',
    level: 'should',
    starts: 'a call',
    async run(subject, signal) {
      const [plain, streamed] = await Promise.all(
        [false, true].map(async (stream) => (await eventsOf(subject, { stream }, signal)).at(-1)),
      )
      assert.ok(plain?.type === 'end' && streamed?.type === 'end')
      if (plain.usage === null) throw new NotApplicable('it reports none')
      assert.ok(streamed.usage !== null, 'a plain answer has usage, a streamed one has none')
      assert.equal(streamed.usage.input, plain.usage.input, 'the input of a stream is counted otherwise')
      return undefined
    },
  },
  {
    title: 'calls a tool when it must',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      needs(subject, 'tools')
      for (const stream of [false, true]) {
        const events = await eventsCalling(subject, stream, signal)
        assertEventOrder(events, 1)
        const calls = events.filter((event) => event.type === 'tool-call-delta')
        assert.ok(calls.length > 0, `a ${stream ? 'streamed' : 'plain'} answer calls no tool`)
        const [first] = calls
        assert.equal(first?.name, WEATHER.function.name, 'another tool is called')
        const text = calls.filter(({ call }) => call === first?.call).reduce((all, each) => all + each.arguments, '')
        assert.ok(isRecord(jsonIn(text)), 'the arguments are not a JSON object')
      }
      return undefined
    },
  },
  {
    title: 'answers in JSON by a schema',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      needs(subject, 'structured_outputs')
      const text = textOf(await eventsOf(subject, { response_format: CITY, messages: ASKS_CITY }, signal))
      const answer = jsonIn(text)
      assert.ok(isRecord(answer), 'the answer is not a JSON object')
      assert.equal(typeof answer.city, 'string', 'the answer is not what the schema asks for')
      assert.ok(Number.isInteger(answer.population), 'the answer is not what the schema asks for')
      return undefined
    },
  },
  {
    title: 'emits its reasoning, or counts it',
    level: 'should',
    starts: 'a call',
    async run(subject, signal) {
      needs(subject, 'reasoning')
      const { effort } = subject
      const request = { messages: ASKS_SUM, ...(effort !== null && { reasoning_effort: effort }) }
      const events = await eventsOf(subject, request, signal)
      const end = events.at(-1)
      const counted = end?.type === 'end' && (end.usage?.reasoning ?? 0) > 0
      const emitted = events.some(({ type }) => type === 'reasoning-delta')
      assert.ok(
        counted || emitted,
        'neither was seen: a model that always answers directly is better listed without reasoning',
      )
      return emitted ? 'emitted' : 'counted'
    },
  },
  {
    title: 'looks at a picture',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      needs(subject, 'vision')
      const text = textOf(await eventsOf(subject, { messages: await asksColor() }, signal))
      assert.notEqual(text.trim(), '', 'the answer is empty')
      return /red/i.test(text)
        ? 'it sees that a red picture is red'
        : 'it did not call a red picture red: look for yourself'
    },
  },
  {
    title: 'reports the probability of tokens',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      needs(subject, 'logprobs')
      const events = await eventsOf(subject, { logprobs: true, top_logprobs: 2 }, signal)
      const found = events.flatMap((event) => (event.type === 'text-delta' ? (event.logprobs ?? []) : []))
      assert.ok(found.length > 0, 'no token has a probability')
      assert.ok(found.every(({ logprob }) => logprob <= 0))
      return undefined
    },
  },
  {
    title: 'a request aborted before it was sent is never answered',
    level: 'must',
    starts: 'nothing',
    async run({ engine, model }) {
      await assert.rejects(engine.generate(textRequest(model), AbortSignal.abort()), 'it was answered')
      return undefined
    },
  },
  {
    title: 'giving up in the middle ends the iteration without an end',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      const leaving = new AbortController()
      const seen: ChatEvent[] = []
      const live = AbortSignal.any([leaving.signal, signal])
      const events = await subject.engine.generate(requestOf(subject, { stream: true }), live)
      const ended = await (async () => {
        for await (const batch of events) {
          seen.push(...batch)
          leaving.abort()
        }
      })().then(
        () => true,
        () => false,
      )
      assert.ok(seen.length > 0, 'nothing was streamed')
      if (ended && seen.at(-1)?.type === 'end' && subject.max_tokens !== undefined)
        throw new NotApplicable('the whole answer came at once')
      assert.ok(!ended, 'the iteration went on to its end')
      assert.ok(!seen.some(({ type }) => type === 'end'), 'an end was emitted')
      return undefined
    },
  },
  {
    title: 'leaving the iteration early leaves the engine able to answer',
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      for await (const _ of await subject.engine.generate(requestOf(subject, { stream: true }), signal)) break
      assertEventOrder(await eventsOf(subject, {}, signal), 1)
      return undefined
    },
  },
  {
    title: 'answers many requests at once, each with its own',
    level: 'should',
    starts: 'a call',
    async run(subject, signal) {
      const all = Array.from({ length: subject.at_once }, (_, i) => eventsOf(subject, { stream: i % 2 === 0 }, signal))
      for (const events of await Promise.all(all)) assertEventOrder(events, 1)
      return `${subject.at_once} at once`
    },
  },
  {
    title: 'refuses a model that it does not have',
    level: 'should',
    starts: 'a call',
    async run(subject, signal) {
      const request = requestOf({ ...subject, model: 'kinora-check-no-such-model' }, {})
      const error = await allEvents(subject.engine, request, signal).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      if (error === null) throw new NotApplicable('it answers whatever model is asked for')
      assert.ok(error instanceof EngineError, 'not with an error of engines')
      return error.kind
    },
  },
]

function answers(kind: string, stream: boolean): Check<ChatSubject> {
  return {
    title: `a ${kind} answer is emitted in order: every choice finishes once, then one end`,
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      for (const ask of [{}, ...(subject.asks ?? [])]) {
        const request = requestOf(subject, { ...ask, stream })
        const events = await allEvents(subject.engine, request, signal)
        assertEventOrder(events, request.n)
        assert.ok(events.some(isContent), 'the answer has no content')
      }
      return undefined
    },
  }
}

function severalChoices(kind: string, stream: boolean): Check<ChatSubject> {
  return {
    title: `a ${kind} request for three choices gets three`,
    level: 'must',
    starts: 'a call',
    async run(subject, signal) {
      if (!subject.choices) throw new NotApplicable('the model is configured with `n: 1`')
      const events = await eventsOf(subject, { stream, n: 3 }, signal)
      assertEventOrder(events, 3)
      const spoken = new Set(events.filter(isContent).map(({ choice }) => choice))
      assert.deepEqual([...spoken].sort(), [0, 1, 2], 'a choice has no content; `n: fan_out` asks for each by itself')
      return undefined
    },
  }
}

/** An answer that has to call the tool. Throws NotApplicable where nobody can make the engine call one. */
async function eventsCalling(subject: ChatSubject, stream: boolean, signal: AbortSignal): Promise<ChatEvent[]> {
  const request: Partial<ChatRequest> = { stream, tools: [WEATHER], tool_choice: 'required', messages: ASKS_WEATHER }
  try {
    return await eventsOf(subject, request, signal)
  } catch (error) {
    if (!(error instanceof EngineError && error.kind === 'rejected')) throw error
    const events = await eventsOf(subject, { ...request, tool_choice: 'auto' }, signal)
    if (events.some(({ type }) => type === 'tool-call-delta')) return events
    throw new NotApplicable('it rejects `tool_choice: required`, and with `auto` it called none')
  }
}

function needs({ capabilities }: ChatSubject, name: string): void {
  if (!capabilities.has(name)) throw new NotApplicable(`\`${name}\` is not among the capabilities of its entry`)
}

function textOf(events: readonly ChatEvent[]): string {
  return events.reduce((text, event) => (event.type === 'text-delta' ? text + event.text : text), '')
}

function requestOf({ model, max_tokens }: ChatSubject, more: Partial<ChatRequest>): ChatRequest {
  return textRequest(model, { ...(max_tokens !== undefined && { max_tokens }), ...more })
}

function eventsOf(subject: ChatSubject, more: Partial<ChatRequest>, signal: AbortSignal): Promise<ChatEvent[]> {
  return allEvents(subject.engine, requestOf(subject, more), signal)
}
