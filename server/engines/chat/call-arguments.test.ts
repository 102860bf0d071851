import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argumentsOf, withObjectArguments } from './call-arguments.ts'
import type { ChatMessage } from './contract.ts'

const conversation = (...texts: string[]): ChatMessage[] =>
  texts.map((text, i) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `${i}`, type: 'function', function: { name: 'f', arguments: text } }],
  }))
const BROKEN = ['{"at":"no', '[1]', '[]', '5', '"x"', 'null', '', ' ', '{"a":1}{"b":2}', '{"a":NaN}']
const WHOLE = ['{"at": "noon"}', ' {"at":"noon"}\n']

const objectsOf = async (...texts: string[]) => [...(await argumentsOf(conversation(...texts))).values()]

test('the arguments of an earlier call are always a JSON object, as every server wants it', async () => {
  assert.deepEqual(
    await objectsOf(...BROKEN),
    BROKEN.map(() => ({})),
  )
  assert.deepEqual(
    await objectsOf(...WHOLE),
    WHOLE.map(() => ({ at: 'noon' })),
  )
  const empty = BROKEN.map(() => '{}')
  assert.deepEqual(withObjectArguments(conversation(...BROKEN, ...WHOLE)), conversation(...empty, ...WHOLE))
})

test('line breaks that a model wrote into a text of its arguments are escaped, and not the end of the call', async () => {
  const written = ['{"code":"a\n\tb",\n"at":"x\\"\ny"}', '{"code":"a\\\nb"}']
  const read = [{ code: 'a\n\tb', at: 'x"\ny' }, { code: 'a\\nb' }]
  assert.deepEqual(await objectsOf(...written), read)
  const escaped = read.map((object) => JSON.stringify(object))
  assert.deepEqual(withObjectArguments(conversation(...written)), conversation(...escaped))
})

test('long arguments keep their texts, whatever is escaped in them, but none is nested deeper than a body may be', async () => {
  const long = `{"a":"${'ä'.repeat(100_000)}","b":"\\u0000\\ud800"}`
  assert.deepEqual(await objectsOf(long), [{ a: 'ä'.repeat(100_000), b: '\ufffd\ufffd' }])
  assert.deepEqual(await objectsOf(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`), [{}])
})

test('the same in a long conversation, and for a call of any length that was cut', async () => {
  const long = `{"a":"${'x'.repeat(100_000)}"}`
  const cut = long.slice(0, -2)
  assert.deepEqual(await withObjectArguments(conversation(long, '{"a', cut)), conversation(long, '{}', '{}'))
  assert.deepEqual(await objectsOf(long, '{"a', cut), [JSON.parse(long), {}, {}])
})
