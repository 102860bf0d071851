import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effortOf } from '../../../test/support/processor-time.ts'
import type { ChatMessage } from './contract.ts'
import { withoutEmptyMessages } from './empty.ts'

test('messages of the user around 10,000 empty answers are joined in time that grows with their number', async () => {
  const messages = Array.from({ length: 10_000 }, (): ChatMessage[] => [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    { role: 'assistant', content: '' },
  ]).flat()
  let joined: readonly ChatMessage[] = []
  const join = async () => {
    joined = withoutEmptyMessages(messages, { reasoning: false, merged: false })
  }
  const { seconds } = await effortOf(join, { seconds: 0.2 })
  assert.ok(seconds < 0.2, `${seconds} s`)
  assert.deepEqual([joined.length, joined[0]!.content!.length, messages[0]!.content!.length], [1, 10_000, 1])
})
