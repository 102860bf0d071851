import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUsage } from '../engines/chat/usage.ts'
import { withReasoning } from './usage.ts'

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
