import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { countRequest, inputSize, limitAnswer } from './count.ts'

const LIVE = new AbortController().signal
const request = (more: Partial<ChatRequest> = {}): ChatRequest => {
  const messages = [{ role: 'user' as const, content: 'word '.repeat(100) }]
  return { model: 'm', n: 1, stream: false, messages, ...more }
}

test('an input is counted once, and only when its upper bound does not answer', async () => {
  let counts = 0
  const size = inputSize({ countTokens: async () => 100 + counts++ }, request(), LIVE)
  assert.ok((await size.atMost(1000)) <= 1000)
  assert.deepEqual([counts, size.counted()], [0, null])
  assert.equal(await size.atMost(99), 100)
  assert.deepEqual([await size.count(), await size.atMost(1000), counts], [100, 100, 1])
  assert.equal(size.counted(), 100)
})

test('an input that the engine cannot count is estimated', async () => {
  const countTokens = () => Promise.reject(new EngineError('rejected', 'no'))
  const size = inputSize({ countTokens }, request(), LIVE)
  const tokens = await countRequest(request())
  assert.equal(await size.count(), tokens)
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
  const tokens = await countRequest(request())
  assert.equal(await limited(8192), 8192 - tokens - 128 - Math.ceil(tokens / 16))
  assert.equal(await limited(tokens + 3), 2, 'half of what little is left')
  assert.equal(counts, 0)
})
