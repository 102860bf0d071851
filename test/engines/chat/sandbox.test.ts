import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import type { ChatMessage, ChatRequest, ChatTool } from '../../../server/engines/chat/contract.ts'
import { SandboxOptions, sandboxChat } from '../../../server/engines/chat/sandbox/adapter.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import { countTokens, decodeToken, encode } from '../../../server/platform/tokenizer.ts'
import { type Answer, ask, reasonOf, requestOf, textOf } from '../../support/upstream/sandbox.ts'

const engine = sandboxChat({ kind: 'sandbox' })
const QUESTION = 'What is the weather in Paris?'

test('the same request gets the same answer, token for token, streaming or not', async () => {
  const first = await ask(engine, QUESTION, { seed: 7 })
  assert.deepEqual(await ask(engine, QUESTION, { seed: 7 }), first)
  assert.deepEqual((await ask(engine, QUESTION, { seed: 7, stream: false })).events, first.events)
  assert.notEqual(textOf(await ask(engine, QUESTION, { seed: 8 })), textOf(first))
})

test('an answer quotes the question, in the language of the question', async () => {
  const answer = await ask(engine, QUESTION)
  assert.ok(textOf(answer).includes(QUESTION))
  assert.equal(reasonOf(answer), 'stop')
  assert.match(textOf(await ask(engine, '東京の天気は？')), /「東京の天気は？」.*。$/)
})

test('an answer names what came with the message', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAYAAAChS3wfAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  const content = [
    { type: 'text' as const, text: 'Look' },
    { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${png}` } },
    { type: 'input_audio' as const, input_audio: { data: 'AAAA', format: 'wav' as const } },
  ]
  const text = textOf(await ask(engine, [{ role: 'user', content }]))
  assert.ok(text.includes('1 image (PNG, 64×48) and 1 audio clip (WAV)'), text)
})

test('max_tokens counts every token, thoughts included, and leaves a beginning of the same answer', async () => {
  const options = { reasoning_effort: 'low' }
  const full = await ask(engine, '東京の天気は？🧿', options)
  for (let max_tokens = 1; max_tokens < full.usage.output; max_tokens++) {
    const answer = await ask(engine, '東京の天気は？🧿', { ...options, max_tokens })
    assert.equal(answer.usage.output, max_tokens)
    assert.equal(answer.usage.reasoning, Math.min(max_tokens, full.usage.reasoning))
    assert.equal(reasonOf(answer), 'length')
    assert.ok(textOf(full).startsWith(textOf(answer)) && !textOf(answer).includes('\ufffd'))
  }
  assert.equal(reasonOf(await ask(engine, '東京の天気は？🧿', { ...options, max_tokens: full.usage.output })), 'stop')
})

test('text ends before the first stop sequence, also one that begins within a token', async () => {
  const input = 'sandbox:echo one two three four'
  for (const [stop, expected] of [
    [['ree fo'], 'one two th'],
    [['x', 'four', 'two'], 'one '],
    [['one'], ''],
    [['five'], 'one two three four'],
  ] as const) {
    const answer = await ask(engine, input, { stop: [...stop] })
    assert.equal(textOf(answer), expected)
    assert.equal(reasonOf(answer), 'stop')
  }
  assert.equal(reasonOf(await ask(engine, input, { stop: ['four'], max_tokens: 2 })), 'length')
})

test('n choices are worded differently, interleave and are all counted', async () => {
  const answer = await ask(engine, QUESTION, { n: 128 })
  const texts = Array.from({ length: 128 }, (_, choice) => textOf(answer, choice))
  assert.equal(new Set(texts).size, 128)
  assert.ok(texts.every((_, choice) => reasonOf(answer, choice) === 'stop'))
  assert.deepEqual(
    answer.events.slice(0, 3).map((event) => 'choice' in event && event.choice),
    [0, 1, 2],
  )
  assert.equal(
    answer.usage.output,
    texts.reduce((sum, text) => sum + countTokens(text), 0),
  )
})

test('a stream has one token an event and several batches; a plain answer is one batch', async () => {
  const answer = await ask(engine, QUESTION)
  assert.equal(answer.events.filter((event) => event.type === 'text-delta').length, encode(textOf(answer)).length)
  assert.ok(answer.batches > 1)
  assert.equal((await ask(engine, QUESTION, { stream: false })).batches, 1)
})

test('logprobs spell the text byte by byte, each token first of its own list', async () => {
  const answer = await ask(engine, 'sandbox:echo naïve 🧿 猫', { logprobs: true, top_logprobs: 5 })
  const logprobs = answer.events.flatMap((event) => (event.type === 'text-delta' ? (event.logprobs ?? []) : []))
  assert.equal(logprobs.length, answer.usage.output)
  assert.equal(Buffer.from(logprobs.flatMap((entry) => entry.bytes ?? [])).toString(), textOf(answer))
  for (const { top_logprobs, ...own } of logprobs) {
    assert.deepEqual(top_logprobs[0], own)
    assert.equal(new Set(top_logprobs.map((entry) => entry.token)).size, 5)
    assert.deepEqual(
      top_logprobs.map((entry) => entry.logprob),
      top_logprobs.map((entry) => entry.logprob).toSorted((a, b) => b - a),
    )
    assert.ok(top_logprobs.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0) <= 1 && own.logprob < 0)
  }
  const [entry] = (await ask(engine, QUESTION, { logprobs: true })).events
  assert.ok(entry?.type === 'text-delta' && entry.logprobs?.[0]?.top_logprobs.length === 0)
})

test('a bias of -100 bans a token, one of 100 forces it', async () => {
  const [banned] = encode(' weather')
  assert.ok(!textOf(await ask(engine, QUESTION, { logit_bias: { [banned!]: -100 } })).includes(decodeToken(banned!)))
  assert.equal(
    textOf(await ask(engine, QUESTION, { logit_bias: { [banned!]: 100 }, max_tokens: 3 })),
    ' weather weather weather',
  )
})

test('an answer with many choices and log probabilities is cut before it is too large to be put together', async () => {
  const input = `sandbox:echo ${'word '.repeat(20_000)}`
  for (const [n, top_logprobs, least, reason] of [
    [1, undefined, 20_000, 'stop'],
    [64, undefined, 4000, 'length'],
    [1, 20, 1500, 'length'],
    [2, 20, 700, 'length'],
  ] as const) {
    const answer = await ask(engine, input, { n, logprobs: top_logprobs !== undefined, top_logprobs })
    const entries = answer.usage.output * (top_logprobs === undefined ? 0 : 1 + top_logprobs)
    assert.ok(
      answer.usage.output <= 262_144 && entries <= 40_000,
      `${n}: ${answer.usage.output} tokens, ${entries} entries`,
    )
    assert.ok(answer.usage.output >= n * least, `${answer.usage.output} tokens`)
    assert.equal(reasonOf(answer), reason)
  }
})

test('thoughts come first, are counted, and grow with the effort', async () => {
  const lengths = []
  for (const reasoning_effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']) {
    const { events, usage } = await ask(engine, QUESTION, { reasoning_effort })
    const thoughts = events.map((event) => (event.type === 'reasoning-delta' ? event.text : '')).join('')
    assert.equal(usage.reasoning, countTokens(thoughts))
    const texts = events.findIndex((event) => event.type === 'text-delta')
    assert.ok(events.every((event, index) => event.type !== 'reasoning-delta' || index < texts))
    lengths.push(usage.reasoning)
  }
  assert.equal(lengths[0], 0)
  assert.deepEqual(
    lengths,
    [...new Set(lengths)].toSorted((a, b) => a - b),
  )
})

test('a tool is called in the turn of the user, and its result is put into words', async () => {
  const answer = await ask(engine, QUESTION, { tools: TOOLS })
  const [call] = callsIn(answer)
  assert.deepEqual([call!.name, JSON.parse(call!.arguments)], ['get_weather', { location: 'Paris' }])
  assert.equal(reasonOf(answer), 'tool_calls')
  assert.equal(textOf(answer), '')
  const history: ChatMessage[] = [
    { role: 'user', content: QUESTION },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: call!.id!, type: 'function', function: { name: call!.name!, arguments: call!.arguments } }],
    },
    { role: 'tool', tool_call_id: call!.id!, content: '18 °C and sunny' },
  ]
  const last = await ask(engine, history, { tools: TOOLS, tool_choice: 'required' })
  assert.match(textOf(last), /get_weather returned: 18 °C and sunny/)
  assert.equal(reasonOf(last), 'stop')
})

test('tool_choice and parallel_tool_calls decide which tools are called', async () => {
  const both = 'Use search_web and get_time for me'
  const allowed = (name: string) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'required' as const, tools: [{ type: 'function' as const, function: { name } }] },
  })
  const cases: Array<[string, Partial<ChatRequest>, string[]]> = [
    [QUESTION, { tool_choice: 'none' }, []],
    [QUESTION, { tool_choice: 'required' }, ['get_weather']],
    [QUESTION, { tool_choice: { type: 'function', function: { name: 'get_time' } } }, ['get_time']],
    [both, {}, ['search_web', 'get_time']],
    [both, { parallel_tool_calls: false }, ['search_web']],
    [both, { tool_choice: allowed('get_time') }, ['get_time']],
    [QUESTION, { tool_choice: allowed('search_web') }, ['search_web']],
  ]
  for (const [input, options, expected] of cases) {
    const calls = callsIn(await ask(engine, input, { tools: TOOLS, ...options }))
    assert.deepEqual(
      calls.map((call) => call.name),
      expected,
    )
    assert.equal(new Set(calls.map((call) => call.id)).size, expected.length)
  }
})

test('max_tokens cuts the arguments of a call short', async () => {
  const full = await ask(engine, QUESTION, { tools: TOOLS })
  const answer = await ask(engine, QUESTION, { tools: TOOLS, max_tokens: full.usage.output - 2 })
  assert.equal(reasonOf(answer), 'length')
  assert.ok(callsIn(full)[0]!.arguments.startsWith(callsIn(answer)[0]!.arguments))
  assert.equal(reasonOf(await ask(engine, QUESTION, { tools: TOOLS, max_tokens: 1 })), 'length')
})

test('json_object answers with an object', async () => {
  const value = JSON.parse(textOf(await ask(engine, QUESTION, { response_format: { type: 'json_object' } })))
  assert.equal(value.question, QUESTION)
})

test('usage equals an independent count', async () => {
  const answer = await ask(engine, [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: QUESTION, name: 'ann' },
  ])
  const texts = ['system', 'Be kind.', 'user', QUESTION, 'ann'].reduce((sum, text) => sum + countTokens(text), 0)
  assert.deepEqual(answer.usage, {
    input: 3 + 2 * 3 + 1 + texts,
    cached_input: 0,
    output: countTokens(textOf(answer)),
    reasoning: 0,
  })
  assert.equal(await engine.countTokens!(requestOf(QUESTION), live()), (await ask(engine, QUESTION)).usage.input)
  const picture = (detail: 'low' | 'high') => [
    {
      role: 'user' as const,
      content: [{ type: 'image_url' as const, image_url: { url: 'https://example.com/a.png', detail } }],
    },
  ]
  assert.equal(
    (await ask(engine, picture('high'))).usage.input - (await ask(engine, picture('low'))).usage.input,
    4 * 170,
  )
})

test('words in the prompt make the sandbox misbehave', async () => {
  const refused = await ask(engine, 'sandbox:refuse')
  assert.ok(refused.events.some((event) => event.type === 'refusal-delta') && textOf(refused) === '')
  assert.equal(reasonOf(refused), 'stop')
  assert.equal(reasonOf(await ask(engine, 'please sandbox:filter this')), 'content_filter')
  assert.equal(textOf(await ask(engine, 'sandbox:empty')), '')
  const long = await ask(engine, 'sandbox:long')
  assert.ok(long.usage.output >= 2000 && long.usage.output < 2200)
  await assert.rejects(ask(engine, 'sandbox:overloaded'), { kind: 'overloaded', retry_after_seconds: 1 })
  await assert.rejects(ask(engine, 'sandbox:too_long'), { kind: 'context_length' })
  assert.equal(reasonOf(await ask(engine, 'my-sandbox:refused sandbox:unknown')), 'stop')
})

test('sandbox:error breaks off after some tokens, without an end', async () => {
  for (const stream of [true, false]) {
    const events: string[] = []
    const answer = await engine.generate(requestOf('sandbox:error', { stream }), live())
    await assert.rejects(
      async () => {
        for await (const batch of answer) events.push(...batch.map((event) => event.type))
      },
      (error) => error instanceof EngineError && error.kind === 'failed',
    )
    assert.deepEqual(events, Array(8).fill('text-delta'))
  }
})

test('an abort ends the answer at once, also while it is paced', async () => {
  await assert.rejects(ask(engine, QUESTION, {}, AbortSignal.abort(new Error('gone'))), /gone/)
  for (const delay_ms_per_token of [0, 10_000]) {
    const leaving = new AbortController()
    const slow = sandboxChat({ kind: 'sandbox', delay_ms_per_token })
    const answer = await slow.generate(requestOf('sandbox:long'), leaving.signal)
    const seen = async () => {
      for await (const _ of answer) leaving.abort()
    }
    await assert.rejects(seen, { name: 'AbortError' })
  }
})

test('unknown options are rejected', () => {
  assert.ok(Value.Check(SandboxOptions, { kind: 'sandbox', delay_ms_per_token: 20 }))
  assert.ok(!Value.Check(SandboxOptions, { kind: 'sandbox', delay: 20 }))
})

const TOOLS: ChatTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
    },
  },
  {
    type: 'function',
    function: { name: 'search_web', parameters: { type: 'object', properties: { query: { type: 'string' } } } },
  },
  { type: 'function', function: { name: 'get_time' } },
]

function callsIn({ events }: Answer): Array<{ id: string | undefined; name: string | undefined; arguments: string }> {
  const calls: ReturnType<typeof callsIn> = []
  for (const event of events) {
    if (event.type !== 'tool-call-delta') continue
    const call = calls[event.call]
    if (call === undefined) calls[event.call] = { id: event.id, name: event.name, arguments: event.arguments }
    else {
      assert.ok(event.id === undefined && event.name === undefined)
      call.arguments += event.arguments
    }
  }
  return calls
}

function live(): AbortSignal {
  return new AbortController().signal
}
