import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChatModel } from '../../../console/api/chat-models.ts'
import { add } from '../../../console/api/money.ts'
import {
  type AssistantMessage,
  type Message,
  NEW_SETTINGS,
  newAnswer,
} from '../../../console/chat/conversation/conversation.ts'
import { bodyOf } from '../../../console/chat/request/body.ts'
import { readSchema, readTools } from '../../../console/chat/request/check-json.ts'
import { readJson } from '../../../console/chat/request/parse-json.ts'
import { readSettings } from '../../../console/chat/request/read-settings.ts'
import { law } from '../../support/law.ts'

const MODEL: ChatModel = {
  id: 'm',
  object: 'model',
  created: 0,
  owned_by: 'organization',
  name: 'M',
  description: '',
  test_model: false,
  context_length: null,
  max_output_tokens: 100,
  default_reasoning_effort: null,
  capabilities: ['vision', 'tools', 'structured_outputs'],
  reasoning_efforts: ['low', 'high'],
  pricing: {
    input_per_million: '1.00000000',
    cached_input_per_million: '0.50000000',
    output_per_million: '2.00000000',
    currency: 'usd',
  },
}

test('sums of money are exact', () => {
  assert.equal(add('0.10000000', '0.20000000'), '0.30000000')
  assert.equal(add('99999999999.99999999', '0.00000001'), '100000000000.00000000')
})

law('JSON is read as JSON.parse reads it, and what that refuses is refused', (seed) => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '1',
    '-0.5e3',
    'true',
    'null',
    ' ',
    '\n',
    '"\\u00e9"',
    '"\\x"',
    'a',
    "'",
    '01',
    '-',
    '1.',
    '"',
    '“',
    '\\',
    '//',
    '/*',
    '\u00a0',
    '"__proto__"',
  ]
  const random = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((each) => each.join(''))
  fc.assert(
    fc.property(fc.oneof(random, fc.json()), (text) => {
      let value: unknown
      let refused = false
      try {
        value = JSON.parse(text)
      } catch {
        refused = true
      }
      const read = readJson(text)
      assert.equal('mistake' in read, refused, text)
      if ('json' in read) assert.deepEqual(read.json.value, value)
    }),
    { seed, numRuns: 3000 },
  )
})

for (const [text, problem, line, column] of [
  ['{\n  "a": 1,\n}', 'trailing_comma', 2, 9],
  ['{\n  "a": 1\n  "b": 2\n}', 'missing_comma', 3, 3],
  ['[\n{"a": 1}', 'unexpected_end', 2, 9],
  ["{'a': 1}", 'wrong_quotes', 1, 2],
  ['{a: 1}', 'unquoted_name', 1, 2],
  ['{"a": "b\n"}', 'line_break_in_text', 1, 9],
  ['{"a": "\\q"}', 'bad_escape', 1, 8],
  ['{\n"a": [\n{a": 1}]}', 'unquoted_name', 3, 2],
  ['{"a" 1}', 'unexpected_character', 1, 6],
  ['[01]', 'bad_number', 1, 2],
  ['[1_000]', 'bad_number', 1, 2],
  ['[\n-]', 'bad_number', 2, 1],
  ['[1\n-2]', 'missing_comma', 2, 1],
  ['["a\n', 'line_break_in_text', 1, 4],
  ['["a', 'unexpected_end', 1, 4],
  ['[1, /*', 'unexpected_character', 1, 5],
  ['["a",\nb"\n]', 'unexpected_character', 2, 1],
  ['[null"\n]', 'line_break_in_text', 1, 7],
  ['{}\n{}', 'after_end', 2, 1],
  ['['.repeat(65), 'too_deep', 1, 65],
  ['{"a":'.repeat(100_000), 'too_deep', 1, 321],
] as const) {
  test(`a mistake in JSON is shown with its line: ${problem}`, () => {
    const read = readJson(text)
    assert.deepEqual('mistake' in read && read.mistake, { problem, line, column })
  })
}

test('of two members with one name the last counts, and its line is the one shown', () => {
  const read = readTools('{"type": "function", "function": {"name": "good",\n"name": "not good"}}')
  assert.deepEqual('mistake' in read && read.mistake, { problem: 'bad_name', line: 2 })
})

test('a name such as __proto__ is a member like any other', () => {
  const read = readSchema('{"__proto__": {"polluted": true}}')
  assert.ok('schema' in read && Object.hasOwn(read.schema, '__proto__'))
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

const tool = (members: object) => ({ type: 'function', function: { name: 'a', ...members } })

for (const [tools, problem, line] of [
  ['"a"', 'not_list', 1],
  ['[\n1]', 'not_object', 2],
  ['[{\n"type": "web_search"}]', 'not_function', 2],
  ['[{"type": "function",\n"name": "a"}]', 'no_function', 1],
  ['[{"type": "function", "function":\n{}}]', 'no_name', 2],
  ['[{"type": "function", "function": {\n"name": "a b"}}]', 'bad_name', 2],
  [`[${JSON.stringify(tool({}))},\n${JSON.stringify(tool({}))}]`, 'name_taken', 2],
  [JSON.stringify([tool({ parameters: [] })]), 'parameters_not_object', 1],
  [JSON.stringify([tool({ description: 1 })]), 'description_not_string', 1],
  [JSON.stringify([tool({ strict: 'yes' })]), 'strict_not_boolean', 1],
  [JSON.stringify(Array.from({ length: 129 }, (_, i) => tool({ name: `t${i}` }))), 'too_many', 1],
] as const) {
  test(`a list of tools that the service would refuse is not sent: ${problem}`, () => {
    const read = readTools(tools)
    assert.deepEqual('mistake' in read && read.mistake, { problem, line })
  })
}

test('a single tool needs no array, and blank text means no tools', () => {
  assert.deepEqual(readTools(JSON.stringify(tool({}))), { tools: [tool({})] })
  assert.deepEqual(readTools(' \n'), { tools: [] })
})

test('only what was set is sent, and numbers as they were meant', () => {
  assert.deepEqual(readSettings(NEW_SETTINGS, MODEL), { parameters: { reasoning: { summary: 'auto' } }, problems: [] })
  const typed = {
    temperature: '0,7',
    top_p: '１',
    max_tokens: ' 50 ',
    seed: '-3',
    stop: 'END\n\\n\\n',
    reasoning_effort: 'low',
  }
  const { parameters, problems } = readSettings({ ...NEW_SETTINGS, ...typed, response_format: 'json_object' }, MODEL)
  assert.deepEqual(problems, [])
  assert.deepEqual(parameters, {
    ...{
      temperature: 0.7,
      top_p: 1,
      max_output_tokens: 50,
      seed: -3,
      stop: ['END', '\n\n'],
      reasoning: { summary: 'auto', effort: 'low' },
    },
    text: { format: { type: 'json_object' } },
  })
})

test('what the service would refuse is a problem of its field', () => {
  const problemsOf = (settings: object, model = MODEL) =>
    readSettings({ ...NEW_SETTINGS, ...settings }, model).problems.map(({ field, problem }) => `${field} ${problem}`)
  assert.deepEqual(
    problemsOf({ temperature: '2.1', top_p: 'x', max_tokens: '101', seed: '1.5', stop: '1\n2\n3\n4\n5' }),
    [
      ...[
        'temperature out_of_range',
        'top_p not_number',
        'max_tokens out_of_range',
        'seed not_integer',
        'stop too_many_stops',
      ],
    ],
  )
  const plain = { ...MODEL, capabilities: [], reasoning_efforts: [] }
  const schema = { response_format: 'json_schema', schema: '{}' }
  assert.deepEqual(problemsOf({ ...schema, tools: JSON.stringify(tool({})) }, plain), [
    ...['response_format schemas_unsupported', 'tools tools_unsupported'],
  ])
  assert.deepEqual(problemsOf({ ...schema, schema: '' }), ['schema missing'])
  assert.deepEqual(problemsOf({ ...schema, schema: '[', schema_name: '' }), ['schema_name bad_name', 'schema json'])
  assert.deepEqual(readSettings({ ...NEW_SETTINGS, reasoning_effort: 'max' }, MODEL).parameters, {
    reasoning: { summary: 'auto' },
  })
})

const answer = (changes: Partial<AssistantMessage>): AssistantMessage => ({
  ...newAnswer('m'),
  status: 'done',
  ...changes,
})

test('a conversation becomes the input of a request', () => {
  const image = { id: '1', kind: 'image', name: 'a.png', size_bytes: 1 } as const
  const messages: Message[] = [
    {
      id: '1',
      role: 'user',
      text: 'Look',
      attachments: [
        { ...image, source: { from: 'data', url: 'data:image/png;base64,AA' } },
        { ...image, source: { from: 'file', file_id: 'file-1' } },
        { ...image, kind: 'pdf', name: 'b.pdf', source: { from: 'file', file_id: 'file-2' } },
      ],
    },
    answer({ status: 'failed' }),
    answer({
      text: 'Hm.',
      tool_calls: [
        { call_id: 'c1', name: 'a', arguments: '{}' },
        { call_id: 'c2', name: 'b', arguments: '' },
      ],
    }),
    { id: '2', role: 'tool', call_id: 'c1', output: '21' },
    { id: '3', role: 'tool', call_id: 'c2', output: '' },
    answer({ text: 'Done', items: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'as it was' }] }),
    { id: '4', role: 'user', text: 'Thanks', attachments: [] },
  ]
  assert.deepEqual(bodyOf({ settings: { ...NEW_SETTINGS, system: ' Be kind. ' }, messages }, MODEL), {
    model: 'm',
    instructions: 'Be kind.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:image/png;base64,AA' },
          { type: 'input_image', file_id: 'file-1' },
          { type: 'input_file', file_id: 'file-2', filename: 'b.pdf' },
          { type: 'input_text', text: 'Look' },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hm.' }] },
      { type: 'function_call', call_id: 'c1', name: 'a', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'b', arguments: '' },
      { type: 'function_call_output', call_id: 'c1', output: '21' },
      { type: 'function_call_output', call_id: 'c2', output: '' },
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'as it was' },
      { role: 'user', content: 'Thanks' },
    ],
    reasoning: { summary: 'auto' },
    stream: true,
  })
})
