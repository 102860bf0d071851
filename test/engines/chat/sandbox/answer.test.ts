import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { SandboxOptions, sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { countTokens, decodeToken, encode } from '../../../../server/platform/tokenizer.ts'
import { ask, reasonOf, requestOf, textOf } from './ask.ts'

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

test('unknown options are rejected', () => {
  assert.ok(Value.Check(SandboxOptions, { kind: 'sandbox', delay_ms_per_token: 20 }))
  assert.ok(!Value.Check(SandboxOptions, { kind: 'sandbox', delay: 20 }))
})

function live(): AbortSignal {
  return new AbortController().signal
}
