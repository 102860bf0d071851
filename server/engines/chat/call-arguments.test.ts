import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argumentsOf, withObjectArguments } from './call-arguments.ts'
import type { ChatMessage } from './contract.ts'

const conversation = (...texts: string[]): ChatMessage[] =>
  texts.map((text, i) => ({
    ...{ role: 'assistant', content: null },
    tool_calls: [{ id: `${i}`, type: 'function', function: { name: 'f', arguments: text } }],
  }))
const BROKEN = ['{"at":"no', '[1]', '[]', '5', '"x"', 'null', '', ' ', '{"a":1}{"b":2}', '{"a":NaN}']
const WHOLE = ['{"at": "noon"}', ' {"at":"noon"}\n']

test('the arguments of an earlier call are always a JSON object, as every server wants it', () => {
  for (const text of BROKEN) assert.deepEqual(argumentsOf(text), {}, text)
  for (const text of WHOLE) assert.deepEqual(argumentsOf(text), { at: 'noon' }, text)
  const empty = BROKEN.map(() => '{}')
  assert.deepEqual(withObjectArguments(conversation(...BROKEN, ...WHOLE)), conversation(...empty, ...WHOLE))
})

test('the same in a long conversation, and for a call of any length that was cut', async () => {
  const long = `{"a":"${'x'.repeat(100_000)}"}`
  const cut = long.slice(0, -2)
  assert.deepEqual(await withObjectArguments(conversation(long, '{"a', cut)), conversation(long, '{}', '{}'))
})
