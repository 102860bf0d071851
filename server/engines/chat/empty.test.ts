import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effortOf } from '../../../test/support/processor-time.ts'
import type { ChatMessage } from './contract.ts'
import { argumentsOf, argumentsText, withoutEmptyMessages } from './empty.ts'

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

test('the arguments of an earlier call are always a JSON object, as every server wants it', () => {
  for (const text of ['{"at":"no', '[1]', '[]', '5', '"x"', 'null', '', ' ', '{"a":1}{"b":2}', '{"a":NaN}'])
    assert.deepEqual([argumentsText(text), argumentsOf(text)], ['{}', {}], text)
  for (const text of ['{"at": "noon"}', ' {"at":"noon"}\n'])
    assert.deepEqual([argumentsText(text), argumentsOf(text)], [text, { at: 'noon' }], text)
})
