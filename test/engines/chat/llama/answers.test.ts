import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../../../server/engines/chat/contract.ts'
import { allEvents, textRequest } from '../contract.ts'
import { modelFile, standIn } from './models.ts'

const ask = (content: string, more: Partial<ChatRequest> = {}): ChatRequest =>
  textRequest('m', { messages: [{ role: 'user', content }], ...more })
const weather: ChatRequest['tools'] = [{ type: 'function', function: { name: 'weather' } }]
const live = () => new AbortController().signal

function textOf(events: readonly ChatEvent[], type: 'text-delta' | 'reasoning-delta' = 'text-delta'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('')
}

function endOf(events: readonly ChatEvent[]) {
  const finish = events.find((event) => event.type === 'finish')
  const end = events.at(-1)
  assert.ok(finish?.type === 'finish' && end?.type === 'end')
  return { reason: finish.reason, usage: end.usage }
}

test('usage counts the prompt as countTokens does, the output, and its reasoning', async () => {
  const engine = standIn()
  const request = ask('THINK of the sea')
  const events = await allEvents(engine, request)
  const input = await engine.countTokens!(request, live())
  assert.ok(input > 0)
  assert.deepEqual(endOf(events), { reason: 'stop', usage: { input, cached_input: 0, output: 6, reasoning: 2 } })
  assert.equal(textOf(events, 'reasoning-delta'), 'Well then.')
  assert.equal(textOf(events), 'THINK of the sea')
})

test('an answer ends at max_tokens with length, at a stop sequence with stop', async () => {
  const engine = standIn()
  const short = await allEvents(engine, ask('one two three four', { max_tokens: 2 }))
  assert.deepEqual([textOf(short), endOf(short).reason], ['one two', 'length'])
  const stopped = await allEvents(engine, ask('one two three four', { stop: ['three'] }))
  assert.deepEqual([textOf(stopped), endOf(stopped).reason], ['one two', 'stop'])
})

test('an answer without an end stops with length where its context ends, in text and in a tool call', async () => {
  const engine = standIn({ context_tokens: 256 })
  for (const request of [ask('FOREVER'), ask('CALL FOREVER', { tools: weather })]) {
    const { reason, usage } = endOf(await allEvents(engine, request))
    assert.equal(reason, 'length')
    assert.ok(usage!.input + usage!.output < 256)
  }
})

test('a prompt whose bytes alone are more than twice the context is refused without being tokenized', async () => {
  const engine = standIn({ context_tokens: 256 })
  // One word of the stand-in, which would take it.
  const request = ask('x'.repeat(128 * 600))
  const tokens = { limit: 256, asked: 600 }
  await assert.rejects(engine.generate(request, live()), { kind: 'context_length', tokens })
  await assert.rejects(engine.countTokens!(request, live()), { kind: 'context_length', tokens })
})

test('a tool call has its id and name once and its arguments whole, without the lines after them, also when not streamed', async () => {
  const engine = standIn()
  for (const [content, expected] of [
    ['CALL', '{"city": "Oslo"}'],
    ['CALL MALFORMED', '{"city": "Oslo"}'],
    ['CALL UNSTREAMED', '{"city":"Oslo"}'],
  ] as const) {
    const events = await allEvents(engine, ask(content, { tools: weather }))
    const deltas = events.filter((event) => event.type === 'tool-call-delta')
    assert.equal(deltas.map((delta) => delta.arguments).join(''), expected)
    assert.deepEqual(
      deltas.map(({ id, name }) => [id?.slice(0, 5), name]),
      deltas.map((_, i) => (i === 0 ? ['call_', 'weather'] : [undefined, undefined])),
    )
    assert.equal(endOf(events).reason, 'tool_calls')
  }
})

test('a prompt that does not fit is refused with the counts of both', async () => {
  const engine = standIn({ context_tokens: 256 })
  await assert.rejects(engine.generate(ask('word '.repeat(300)), live()), (error: { tokens: { asked: number } }) => {
    assert.deepEqual({ ...error, tokens: { ...error.tokens, asked: 0 } }.tokens, { limit: 256, asked: 0 })
    assert.ok(error.tokens.asked >= 300)
    return true
  })
})

test('nothing of one request is left for the next, although they share a sequence', async () => {
  const engine = standIn({ max_parallel: 1 })
  await allEvents(engine, ask('my secret word is swordfish'))
  assert.equal(textOf(await allEvents(engine, ask('hello'))), 'hello')
})

test('a conversation that the template does not take is refused by its field', async () => {
  await assert.rejects(standIn().generate(ask('UNTEMPLATED'), live()), {
    kind: 'rejected',
    public_message: /^messages: /,
  })
})

test('an error of the library does not carry the prompt, and the engine answers again', async () => {
  const engine = standIn({ max_parallel: 1 })
  await assert.rejects(allEvents(engine, ask('THROW swordfish')), {
    kind: 'failed',
    message: 'The model failed: TypeError.',
  })
  assert.equal(textOf(await allEvents(engine, ask('hello'))), 'hello')
})

test('a process that dies fails its answers and is started again, with a line for the operator', async () => {
  const lines: unknown[] = []
  const engine = standIn({}, { log: { error: (event, fields) => void lines.push([event, fields?.engine]), warn() {} } })
  await assert.rejects(allEvents(engine, ask('EXIT')), { kind: 'failed' })
  assert.equal(textOf(await allEvents(engine, ask('hello'))), 'hello')
  assert.deepEqual(lines, [['chat_engine_needs_operator', 'llama']])
})

test('a model that cannot be loaded fails every request for good, with the reason once in the log', async () => {
  for (const [content, reason] of [
    ['GGUF BROKEN', /Failed to load model tensor data is not within the file bounds/],
    ['GGUF CRASH', /exit code 134/],
  ] as const) {
    const lines: string[] = []
    const env = {
      log: { error: (_: string, fields?: { detail?: string }) => void lines.push(fields!.detail!), warn() {} },
    }
    const engine: ChatEngine = standIn({ model_file: modelFile(content) }, env)
    for (let i = 0; i < 2; i++)
      await assert.rejects(engine.generate(ask('hello'), live()), { kind: 'permanent', message: reason })
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, reason)
  }
})

test('requests beyond max_parallel wait in order, and beyond max_waiting are overloaded', async () => {
  const engine = standIn({ max_parallel: 1, max_waiting: 1 })
  const leaving = new AbortController()
  const running = await engine.generate(ask('FOREVER', { stream: true }), leaving.signal)
  const waiting = allEvents(engine, ask('second'))
  await assert.rejects(engine.generate(ask('third'), live()), { kind: 'overloaded', retry_after_seconds: 5 })
  leaving.abort()
  assert.equal(textOf(await waiting), 'second')
  await assert.rejects(async () => {
    for await (const _ of running);
  })
})

test('a request that takes longer than the limit of all upstreams times out and makes room for the next', async () => {
  const engine = standIn(
    { max_parallel: 1, context_tokens: 10_000_000 },
    { upstream: { idle_seconds: 5, total_seconds: 5 } },
  )
  await assert.rejects(allEvents(engine, ask('FOREVER')), { kind: 'timeout' })
  // The limit holds for the next one too, which a busy machine may exceed: it waits for another process with the model.
  const next = () =>
    allEvents(engine, ask('hello')).catch((error: { kind: string }) => assert.equal(error.kind, 'timeout'))
  let answer = await next()
  while (answer === undefined) answer = await next()
  assert.equal(textOf(answer), 'hello')
})

test('counts wait no longer than answers do, and no more of them at once', async () => {
  const upstream = { idle_seconds: 0.2, total_seconds: 0.2 }
  const engine = standIn({ model_file: modelFile('GGUF SLOW'), max_waiting: 0 }, { upstream })
  const first = engine.countTokens!(ask('first'), live())
  await assert.rejects(engine.countTokens!(ask('second'), live()), { kind: 'overloaded' })
  await assert.rejects(first, { kind: 'timeout' })
})
