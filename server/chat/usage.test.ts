import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effortOf } from '../../test/support/processor-time.ts'
import type { ChatRequest } from '../engines/chat/contract.ts'
import { readUsage } from '../engines/chat/usage.ts'
import { inputSize } from './count.ts'
import { countUsage, withReasoning } from './usage.ts'

const reported = readUsage({ prompt_tokens: 32, completion_tokens: 9, total_tokens: 142 })!
const reasoner = { capabilities: ['reasoning' as const] }
const other = { capabilities: [] }
const produced = (reasoning: string) => ({ choices: [{ text: 'Hi', reasoning, calls: [] }] }) as never

test('what a total has beyond prompt and completion is billed where the model reasons, or has reasoned', () => {
  for (const [model, reasoning] of [
    [reasoner, ''],
    [other, 'Hm.'],
  ] as const) {
    const { input, output, reasoning: thought } = withReasoning(reported, model, produced(reasoning))
    assert.deepEqual({ input, output, thought }, { input: 32, output: 110, thought: 101 })
  }
})

test('of a model that does not reason, the sum of prompt and completion stands', () => {
  const { input, output, reasoning } = withReasoning(reported, other, produced(''))
  assert.deepEqual({ input, output, reasoning }, { input: 32, output: 9, reasoning: 0 })
})

test('of an abandoned request no more input is counted and charged than the context of the model, of another all of it', async () => {
  const messages = [{ role: 'user' as const, content: 'word '.repeat(6_000_000) }]
  const request: ChatRequest = { model: 'm', n: 1, stream: false, messages }
  const size = inputSize({}, request, new AbortController().signal)
  const asked = { choices: [], asked: true, ended: false, usages: new Map() }
  const input = async (context_length: number | null, abandoned: boolean) =>
    (
      await countUsage(
        { request, size, model: { context_length } as never },
        { ...asked, ended: !abandoned },
        abandoned,
      )
    ).input
  assert.equal(await input(8192, true), 8192)
  assert.equal(await input(null, true), 1_048_576)
  assert.equal(await input(8192, false), 6_000_007)
  const { seconds } = await effortOf(() => input(8192, true), { seconds: 0.1 })
  assert.ok(seconds < 0.1, `${seconds} s`)
})
