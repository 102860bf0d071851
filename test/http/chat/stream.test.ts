import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { chunkWriter } from '../../../server/chat/chunks.ts'
import { collectAnswer } from '../../../server/chat/collect.ts'
import type { Turn } from '../../../server/chat/turn.ts'
import type { ChatEvent, TokenLogprob, TokenUsage } from '../../../server/engines/chat/contract.ts'
import { openHttp } from '../../../server/platform/http/server.ts'
import { openEventStream } from '../../../server/platform/http/sse.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { choiceOf, readChunks, sameWords } from '../../support/data/chat-chunks.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  chargesOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startChatServer,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import { law } from '../../support/law.ts'
import { chunk, textFrames, type UpstreamReply, USAGE } from '../../support/upstream/chat-upstream.ts'

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
    const { json } = await ask(service.app, person, { ...asked, ...changes })
    assert.deepEqual(folded.choices.map(sameWords), json.choices.map(choiceOf).map(sameWords))
    assert.deepEqual(folded.usage, json.usage)
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
      ...{ token: words, logprob: fc.double({ max: 0, noNaN: true, noDefaultInfinity: true }).map((x) => x + 0) },
      ...{ bytes: fc.constant(null), top_logprobs: fc.constant([]) },
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

function turnOf([first, ...rest]: ChatEvent[][]): Turn {
  return { first: first!, next: async () => rest.shift() ?? null, stop: async () => {} }
}

test('200: keepalive comments are sent between events, never within one', async () => {
  const front = await startChatServer(service, { keepalive_seconds: 0.02, stalled_seconds: 5 })
  const frames = textFrames(['Hel', 'lo']).slice(0, -1)
  service.upstream.reply({ kind: 'stream', frames, done: false, finally: 'stall' })
  const connection = await rawConnection(front.url)
  let text = ''
  const ended = new Promise<void>((resolve) => connection.socket.on('end', resolve).on('close', resolve))
  connection.socket.on('data', (bytes) => {
    text += bytes
    if (text.split(': keepalive\n\n').length > 3) service.upstream.release()
  })
  await connection.write(requestOf(front.url, { model: 'far-1', stream: true }))
  await ended
  await front.close()
  const body = text
    .slice(text.indexOf('\r\n\r\n') + 4)
    .replace(/(^|\r\n)[0-9a-f]+\r\n/g, '')
    .replace(/\r\n$/, '')
  const { choices } = readChunks(eventsOf(body), { include_usage: false })
  assert.equal(choices[0]!.content, 'Hello')
})

test('a client that never reads has at most a megabyte buffered, is cut off and charged for what was produced; others are not affected', async () => {
  const front = await startChatServer(service, { keepalive_seconds: 15, stalled_seconds: 0.3 })
  const sleeper = await customer(service)
  service.upstream.reply({ kind: 'flood', frame: chunk({ content: 'word '.repeat(40) }) })
  const connection = await rawConnection(front.url)
  connection.socket.pause()
  await connection.write(requestOf(front.url, { model: 'far-1', stream: true }, sleeper.key))
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, front.waiting())
  }, 1)
  await service.upstream.received()
  const messages = [{ role: 'user', content: 'sandbox:long' }]
  const other = await ask(front, person, { model: 'sandbox-1', stream: true, messages })
  readChunks(eventsOf(other.text), { include_usage: false })
  await service.upstream.left()
  clearInterval(watch)
  await front.close()
  connection.close()
  const [bill, ...more] = await chargesOf(service.app, sleeper)
  assert.equal(more.length, 0)
  assert.ok(bill!.output_tokens! > 10_000, 'charged for what was made')
  assert.ok(most > 0 && most <= 1024 * 1024, `${most} bytes waited`)
})

test('a client that stops reading before the very end is cut off too', async () => {
  const http = openHttp({ log: silentLog })
  const left = new AbortController()
  http.get('/', async (_, reply) => {
    const events = openEventStream(reply, left, { keepalive_seconds: 15, stalled_seconds: 0.1 })
    // Until the connection takes no more, and no further: nothing then waits for it to be drained.
    while (reply.raw.writableLength === 0) {
      events.write(`data: ${'x'.repeat(16_000)}\n\n`)
      await new Promise(setImmediate)
    }
    events.end('data: [DONE]\n\n')
    return reply
  })
  const url = await http.listen({ host: '127.0.0.1', port: 0 })
  const connection = await rawConnection(url)
  connection.socket.pause()
  await connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(left.signal, 'abort')
  connection.close()
  await http.close()
})

test('no work continues for a client that disconnected before its stream was opened', async () => {
  const http = openHttp({ log: silentLog })
  const opened = Promise.withResolvers<string[]>()
  http.get('/', async (_, reply) => {
    const left = new AbortController()
    await once(reply.raw, 'close')
    left.abort()
    const before = process.getActiveResourcesInfo().length
    openEventStream(reply, left)
    opened.resolve(process.getActiveResourcesInfo().slice(before))
    return reply
  })
  const connection = await rawConnection(await http.listen({ host: '127.0.0.1', port: 0 }))
  await connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  connection.close()
  assert.deepEqual(await opened.promise, [])
  await http.close()
})

test('a client that disconnects ends its request to the model server and is charged for what was produced', async () => {
  const leaver = await customer(service)
  service.upstream.reply({ kind: 'stream', frames: textFrames(['So far']).slice(0, 2), done: false, finally: 'stall' })
  const connection = await rawConnection(service.app.url)
  const read = new Promise<void>((resolve) =>
    connection.socket.on('data', (bytes) => void (String(bytes).includes('So far') && resolve())),
  )
  await connection.write(requestOf(service.app.url, { model: 'far-1', stream: true }, leaver.key))
  await read
  connection.close()
  await service.upstream.left()
  for (let bills: unknown[] = []; bills.length === 0; ) bills = await chargesOf(service.app, leaver)
  const [bill, ...more] = await chargesOf(service.app, leaver)
  assert.equal(more.length, 0)
  assert.deepEqual([bill!.input_tokens, bill!.output_tokens], [7, 2])
})

function requestOf(url: string, changes: object, key = person.key): string {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...changes })
  const lines = [`host: ${new URL(url).host}`, `authorization: Bearer ${key}`, 'content-type: application/json']
  return [
    'POST /v1/chat/completions HTTP/1.1',
    ...lines,
    `content-length: ${body.length}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
