import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { chunkWriter } from '../../../server/chat/chunks.ts'
import { collectAnswer } from '../../../server/chat/collect.ts'
import type { Exchange } from '../../../server/chat/exchange.ts'
import type { ChatEvent, TokenLogprob, TokenUsage } from '../../../server/engines/chat/contract.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  chargesOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { law } from '../../support/law.ts'
import { chunk, textFrames, type UpstreamReply, USAGE } from '../../support/upstream/chat-upstream.ts'
import { choiceOf, readChunks, sameWords } from './chunks.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
const stream = async (reply: UpstreamReply | null, changes: Record<string, unknown> = {}) => {
  if (reply) service.upstream.reply(reply)
  const answer = await ask(service.app, person, { stream: true, ...changes })
  assert.equal(answer.status, 200, answer.text)
  return { ...answer, events: eventsOf(answer.text) }
}
const deltas = (events: Array<{ choices: Array<{ delta: object }> }>) =>
  events.slice(0, -1).map(({ choices }) => choices[0]!.delta)

test('200: the headers of a stream are those of the contract', async () => {
  const { headers } = await stream(null)
  assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(headers.get('cache-control'), 'no-cache')
  assert.equal(headers.get('x-accel-buffering'), 'no')
  assert.equal(headers.get('content-encoding'), null)
  assert.match(headers.get('x-request-id')!, /^req_[0-9a-f]{32}$/)
})

test('200: a text is streamed as role, deltas and finish, each a separate chunk, then [DONE]', async () => {
  const { events } = await stream({ kind: 'stream', frames: textFrames(['Hel', 'lo']) })
  const { choices } = readChunks(events, { include_usage: false })
  assert.deepEqual(deltas(events), [
    { role: 'assistant', content: '', refusal: null },
    { content: 'Hel' },
    { content: 'lo' },
    {},
  ])
  assert.equal(choices[0]!.finish_reason, 'stop')
  assert.match(events[0].id, /^chatcmpl-[0-9a-f]{24}$/)
  assert.deepEqual([events[0].model, events[0].choices[0].logprobs], ['far-1', null])
})

test('200: a tool call at the start follows a role without content, with its name first and its arguments in deltas', async () => {
  const part = (call: object) => chunk({ tool_calls: [{ index: 0, ...call }] })
  const frames = [
    part({ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at"' } }),
    part({ function: { arguments: ':"sky"}' } }),
    chunk({}, { finish_reason: 'tool_calls', usage: USAGE }),
  ]
  const { events } = await stream({ kind: 'stream', frames }, { tools: TOOLS })
  assert.deepEqual(deltas(events), [
    { role: 'assistant', content: null, refusal: null },
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"at"' } }] },
    { tool_calls: [{ index: 0, function: { arguments: ':"sky"}' } }] },
    {},
  ])
})

test('200: with include_usage a last chunk has the usage that was charged; without it no chunk has `usage`', async () => {
  for (const model of ['far-1', 'sandbox-1']) {
    const { events, headers } = await stream(null, { model, stream_options: { include_usage: true } })
    const { usage } = readChunks(events, { include_usage: true }) as { usage: Record<string, number> }
    const bills = await chargesOf(service.app, person)
    const bill = bills.find(({ request_id }) => request_id === headers.get('x-request-id'))!
    assert.deepEqual([bill.input_tokens, bill.output_tokens], [usage.prompt_tokens, usage.completion_tokens])
    for (const stream_options of [undefined, {}, { include_usage: false }, { include_obfuscation: true }]) {
      const { text } = await stream(null, { model, stream_options })
      assert.ok(!text.includes('usage'))
    }
  }
})

test('200: a stream of the embedded model, with choices, reasoning, calls and log probabilities, folds to its plain answer', async () => {
  const asked = { model: 'sandbox-1', seed: 7 }
  const cases = [
    { n: 3, logprobs: true, top_logprobs: 2 },
    { reasoning_effort: 'high', n: 2 },
    { tools: TOOLS, tool_choice: 'required' },
    { tools: TOOLS, tool_choice: 'required', reasoning_effort: 'low' },
    { messages: [{ role: 'user', content: 'sandbox:refuse' }] },
    { messages: [{ role: 'user', content: 'sandbox:empty' }] },
    { max_tokens: 3 },
  ]
  for (const changes of cases) {
    const { events } = await stream(null, { ...asked, ...changes, stream_options: { include_usage: true } })
    const folded = readChunks(events, { include_usage: true })
    const { body } = await ask(service.app, person, { ...asked, ...changes })
    assert.deepEqual(folded.choices.map(sameWords), body.choices.map(choiceOf).map(sameWords))
    assert.deepEqual(folded.usage, body.usage)
  }
})

law(
  'whatever the events and however they are batched, the stream is in the grammar and folds to the plain answer',
  async (seed) => {
    const property = fc.asyncProperty(answers(), fc.boolean(), async (batches, include_usage) => {
      const head = { id: 'chatcmpl-1', created: 1, model: 'm' }
      const writer = chunkWriter(head, { include_usage })
      const text = batches.map((batch) => writer.frames(batch)).join('') + writer.end(usageOf(batches))
      const folded = readChunks(eventsOf(text), { include_usage })
      const plain = await collectAnswer(turnOf(batches), head)
      assert.deepEqual(folded.choices.map(sameWords), plain.choices.map(choiceOf).map(sameWords))
      if (include_usage) assert.deepEqual(folded.usage, plain.usage)
    })
    await fc.assert(property, { seed, numRuns: Number(process.env.RUNS ?? 500) })
  },
)

/** Answers of one to three choices whose events come mixed, in batches of any size. */
function answers(): fc.Arbitrary<ChatEvent[][]> {
  const words = fc.string({ unit: 'binary', maxLength: 12 })
  const token: fc.Arbitrary<TokenLogprob> = fc.record(
    {
      token: words,
      logprob: fc.double({ max: 0, noNaN: true, noDefaultInfinity: true }).map((x) => x + 0),
      bytes: fc.constant(null),
      top_logprobs: fc.constant([]),
    },
    { noNullPrototype: true },
  )
  const choice = fc.record({
    reasoning: fc.array(words, { maxLength: 3 }),
    texts: fc.array(fc.tuple(words, fc.option(fc.array(token, { maxLength: 2 }), { nil: undefined })), {
      maxLength: 4,
    }),
    refusals: fc.array(words, { maxLength: 2 }),
    calls: fc.array(fc.array(words, { maxLength: 3 }), { maxLength: 3 }),
    reason: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter'),
  })
  const mixed = fc.tuple(fc.array(choice, { minLength: 1, maxLength: 3 }), fc.infiniteStream(fc.nat({ max: 9 })))
  return mixed.map(([choices, dice]) => {
    const queues = choices.map((each, index) => eventsOfChoice(each as ChoiceContent, index))
    const batches: ChatEvent[][] = [[]]
    while (queues.some(({ length }) => length > 0)) {
      const open = queues.filter(({ length }) => length > 0)
      batches.at(-1)!.push(open[dice.next().value! % open.length]!.shift()!)
      if (dice.next().value! < 3) batches.push([])
    }
    batches.at(-1)!.push({ type: 'end', usage: { input: 9, cached_input: 4, output: 5, reasoning: 1 } })
    return batches
  })
}

type ChoiceContent = {
  reasoning: string[]
  texts: Array<[string, TokenLogprob[] | undefined]>
  refusals: string[]
  calls: string[][]
  reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'
}

function eventsOfChoice({ reasoning, texts, refusals, calls, reason }: ChoiceContent, choice: number): ChatEvent[] {
  return [
    ...reasoning.map((text) => ({ type: 'reasoning-delta', choice, text }) as const),
    ...texts.map(([text, logprobs]) => ({ type: 'text-delta', choice, text, ...(logprobs && { logprobs }) }) as const),
    ...refusals.map((text) => ({ type: 'refusal-delta', choice, text }) as const),
    ...calls.flatMap((pieces, call): ChatEvent[] => [
      { type: 'tool-call-delta', choice, call, id: `call_${choice}${call}`, name: 'look', arguments: '' },
      ...pieces.map((text) => ({ type: 'tool-call-delta', choice, call, arguments: text }) as const),
    ]),
    { type: 'finish', choice, reason },
  ]
}

function usageOf(batches: readonly ChatEvent[][]): TokenUsage {
  const last = batches.at(-1)!.at(-1)!
  return last.type === 'end' ? last.usage! : assert.fail()
}

function turnOf([first, ...rest]: ChatEvent[][]): Exchange {
  return { first: first!, next: async () => rest.shift() ?? null, stop: async () => {} }
}
