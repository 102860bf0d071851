import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { ApiError } from '../platform/errors.ts'
import { boundsOf, countInputTokens, inputSize, limitAnswer } from './count.ts'

const LIVE = new AbortController().signal
const request = (more: Partial<ChatRequest> = {}): ChatRequest => {
  const messages = [{ role: 'user' as const, content: 'word '.repeat(100) }]
  return { model: 'm', n: 1, stream: false, messages, ...more }
}

test('an input is counted once', async () => {
  let counts = 0
  const size = inputSize({ countTokens: async () => 100 + counts++ }, request(), LIVE)
  const { least, most } = await size.bounds()
  assert.ok(least < 100 && most > 100)
  assert.deepEqual([counts, size.counted()], [0, null])
  assert.deepEqual(
    [await size.count(1000), await size.count(1000), await size.estimate(1000), counts],
    [100, 100, 100, 1],
  )
  assert.equal(size.counted(), 100)
})

test('a count that has stopped is more than was asked for, and no count of the input', async () => {
  const asked = request({ messages: [{ role: 'user', content: 'word '.repeat(100_000) }] })
  let given = 0
  const engine = {
    countTokens: async (_: ChatRequest, __: AbortSignal, most?: number) => {
      given = most!
      return most! + 1
    },
  }
  for (const [size, count] of [
    [inputSize(engine, asked, LIVE), 'count'],
    [inputSize({}, asked, LIVE), 'count'],
    [inputSize({}, asked, LIVE), 'estimate'],
  ] as const) {
    const tokens = await size[count](50_000)
    assert.ok(tokens > 50_000 && tokens < 60_000, String(tokens))
    assert.equal(size.counted(), null)
  }
  assert.equal(given, 50_000)
})

test('an input that is longer than `most` by its bytes alone is neither counted nor estimated', async () => {
  const asked = request({ messages: [{ role: 'user', content: 'x'.repeat(30_000_000) }] })
  const size = inputSize({ countTokens: () => assert.fail('counted') }, asked, LIVE)
  const least = Math.ceil(30_000_000 / 128)
  assert.deepEqual([await size.count(16_384), await size.estimate(16_384), size.counted()], [least, least, null])
})

test('the bounds of a request enclose its tokens, calls and tools included', async () => {
  const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{"a":"\n\n"}'.repeat(9) } }
  const asked = request({
    messages: [
      { role: 'assistant', content: null, tool_calls: [{ ...call, extra_content: { google: 'x'.repeat(100_000) } }] },
      { role: 'user', content: [{ type: 'text', text: ' '.repeat(12_800) }] },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: ' '.repeat(1280) } }],
  })
  const { least, most } = await boundsOf(asked)
  const tokens = await countInputTokens(asked)
  assert.ok(least >= 110 && least <= tokens && tokens <= most, `${least}, ${tokens}, ${most}`)
})

test('an input that the engine cannot count is estimated', async () => {
  const countTokens = () => Promise.reject(new EngineError('rejected', 'no'))
  const size = inputSize({ countTokens }, request(), LIVE)
  const tokens = await countInputTokens(request())
  assert.equal(await size.count(1000), tokens)
  assert.equal(size.counted(), tokens)
})

test('the default limit is the maximum of the model, also for an input that fills the context', async () => {
  const limited = async (context_length: number | null, max_output_tokens: number | null, max_tokens?: number) => {
    const asked = request({ max_tokens })
    await limitAnswer(asked, { context_length, max_output_tokens }, inputSize({}, asked, LIVE))
    return asked.max_tokens
  }
  assert.deepEqual(
    [await limited(null, null), await limited(1000, null), await limited(null, 500), await limited(10_000, 500)],
    [undefined, undefined, 500, 500],
  )
  assert.deepEqual([await limited(100, 500), await limited(500, 500, 500)], [500, 500])
})

test('the default limit leaves room for the template of the model and for another tokenizer, without asking the engine', async () => {
  let counts = 0
  const countTokens = async () => ++counts
  const limited = async (context_length: number) => {
    const asked = request()
    await limitAnswer(asked, { context_length, max_output_tokens: 8192 }, inputSize({ countTokens }, asked, LIVE))
    return asked.max_tokens
  }
  const tokens = await countInputTokens(request())
  assert.equal(await limited(8192), 8192 - tokens - 128 - Math.ceil(tokens / 16))
  assert.equal(await limited(tokens + 3), 2, 'half of what little is left')
  assert.equal(counts, 0)
})

test('an input of more than twice the context is refused without asking the server, media aside', async () => {
  const limit = (content: ChatRequest['messages'][number]['content'], more: Partial<ChatRequest> = {}) => {
    const asked = request({ messages: [{ role: 'user', content: content as string }], ...more })
    return limitAnswer(asked, { context_length: 1000, max_output_tokens: 500 }, inputSize({}, asked, LIVE))
  }
  const refusal = (error: unknown) =>
    error instanceof ApiError && error.param === 'messages' && /resulted in more than 1000 tokens/.test(error.message)
  await assert.rejects(limit('word '.repeat(3000))!, refusal)
  await assert.rejects(limit('x'.repeat(300_000), { max_tokens: 5 })!, refusal)
  await limit('word '.repeat(1900))
  await limit(Array.from({ length: 10 }, () => ({ type: 'image_url', image_url: { url: 'https://example.com' } })))
})
