import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import { checkResponseBody } from './check/body.ts'
import { normalizeInput, skippedCalls, skippedTypes } from './normalize-input.ts'

const left = new AbortController().signal
const check = async (input: unknown) => (await checkResponseBody({ model: 'm', input }, { left })).input
const normal = async (input: unknown) => normalizeInput(await check(input), left)
const items = async (input: unknown) => (await normal(input)).map(({ item }) => item)

test('a string is one user message, with an id and a part', async () => {
  const [entry, ...more] = await normal('Hi')
  assert.equal(more.length, 0)
  assert.match(entry!.item.id, /^msg_[0-9a-f]{48}$/)
  assert.deepEqual(entry, {
    path: 'input',
    item: { id: entry!.item.id, type: 'message', status: 'completed', role: 'user', content: [text('Hi')] },
  })
})

const text = (text: string) => ({ type: 'input_text', text })
const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

test('messages need no type, accept strings for parts, and any kind of text part in any role', async () => {
  const parts = [text('a'), { type: 'text', text: 'b' }, { type: 'output_text', text: 'c' }]
  for (const role of ['user', 'system', 'developer']) {
    const [plain, , whole] = await items([
      { role, content: 'Hi', id: null, status: null, phase: null },
      { type: '', role, content: 'Hi', status: '', phase: '' },
      { type: 'message', role, content: parts, id: 'msg_mine', status: 'incomplete' },
    ])
    assert.deepEqual(plain, { id: plain!.id, type: 'message', status: 'completed', role, content: [text('Hi')] })
    assert.deepEqual(whole, {
      id: 'msg_mine',
      type: 'message',
      status: 'incomplete',
      role,
      content: [text('a'), text('b'), text('c')],
    })
  }
  const [assistant] = await items([{ role: 'assistant', content: parts, phase: 'commentary', id: 'own' }])
  assert.deepEqual(assistant, {
    id: 'own',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    phase: 'commentary',
    content: [outputText('a'), outputText('b'), outputText('c')],
  })
})

test('an answer can be sent back unchanged', async () => {
  const answer = [
    { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'AAAA' },
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'refusal', refusal: 'No.' }],
    },
    {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'c',
      name: 'f',
      arguments: '{}',
      namespace: 'n',
    },
    { id: 'fco_1', type: 'function_call_output', status: 'completed', call_id: 'c', output: 'o' },
    { id: 'ctc_1', type: 'custom_tool_call', status: 'completed', call_id: 'd', name: 'f', input: 'i' },
    { id: 'co_1', type: 'custom_tool_call_output', status: 'completed', call_id: 'd', output: [text('o')] },
    { id: 'cmp_1', type: 'compaction', encrypted_content: 'AAAA' },
  ]
  assert.deepEqual(await items(answer), answer)
  const padded = answer.map((item) => ({ ...item, later: { x: 1 }, created_by: null }))
  assert.deepEqual(await items(padded), answer)
})

test('reasoning accepts null for any member it omits', async () => {
  const [item] = await items([
    { type: 'reasoning', id: null, summary: null, content: null, encrypted_content: null, status: null },
  ])
  assert.deepEqual(item, { id: item!.id, type: 'reasoning', summary: [] })
})

test('an id alone is a reference, with or without a type', async () => {
  const input = [
    { id: 'msg_1' },
    { type: 'item_reference', id: 'fc_1' },
    { id: 'rs_1', type: null, role: null },
    { type: 'item_reference', id: 'msg_2', role: 'user' },
  ]
  const references = ['msg_1', 'fc_1', 'rs_1', 'msg_2'].map((id) => ({ type: 'item_reference', id }))
  assert.deepEqual(await items(input), references)
})

test('what other services add is left out, and objects are written as JSON', async () => {
  const input = [
    {
      role: 'assistant',
      content: [{ type: 'reasoning_text', text: 'h' }, outputText('x'), { type: 'summary_text', text: 's' }],
    },
    { type: 'function_call', call_id: 'c', name: 'look', arguments: { a: 1 } },
    {
      type: 'function_call_output',
      call_id: 'c',
      output: [{ type: 'encrypted_content', encrypted_content: 'x' }, text('y')],
    },
  ]
  const [message, call, output] = (await items(input)) as unknown as [
    { content: unknown },
    { arguments: string },
    { output: unknown },
  ]
  assert.deepEqual(message.content, [outputText('x')])
  assert.equal(call.arguments, '{"a":1}')
  assert.deepEqual(output.output, [text('y')])
})

test('items of types that are not known are skipped with their calls, and the others keep their paths', async () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'o' })
  const input = [
    ...['web_search_call', 'agent_message', 'tool_search_call'].map((type) => ({ type, id: 'x', status: 7 })),
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'l', action: { type: 'exec' } },
    { type: 'mcp_call', id: 'm' },
    output('l'),
    output('m'),
    { type: 'local_shell_call', call_id: 'c' },
    call,
    output('c'),
    { role: 'user', content: 'Hi' },
  ]
  const checked = await check(input)
  assert.deepEqual(
    (await normalizeInput(checked, left)).map(({ path }) => path),
    ['input[5]', 'input[6]', 'input[8]', 'input[9]', 'input[10]'],
  )
  assert.deepEqual(
    [...new Set(skippedTypes(checked))],
    ['web_search_call', 'agent_message', 'tool_search_call', 'local_shell_call', 'mcp_call'],
  )
  assert.deepEqual([...skippedCalls(checked)], ['x', 'l', 'm', 'c'])
})

test('ids may have 1,024 characters, an empty one is none, and call ids have up to 256', async () => {
  const [long, call_id] = ['i'.repeat(1024), 'c'.repeat(256)]
  const [call, output, message] = await items([
    { type: 'function_call', id: long, call_id, name: 'f', arguments: '{}' },
    { type: 'function_call_output', id: '', call_id, output: null },
    { role: 'assistant', content: null },
  ])
  assert.deepEqual([call!.id, call!.type === 'function_call' && call!.call_id], [long, call_id])
  assert.match(output!.id, /^fco_/)
  assert.deepEqual(output!.type === 'function_call_output' && output!.output, '')
  assert.deepEqual(message!.type === 'message' && message!.content, [])
})

test('images and files in messages and outputs keep their sources', async () => {
  const parts = [
    { type: 'input_image', image_url: 'https://example.com/a.png', file_id: null, detail: null },
    { type: 'input_image', file_id: 'file-1', detail: 'low' },
    { type: 'input_file', file_data: 'AAAA', filename: 'a.txt', file_url: null },
    { type: 'input_file', file_url: 'https://example.com/a.pdf' },
    { type: 'input_file', file_id: 'file-2', filename: null },
  ]
  const kept = [
    { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
    { type: 'input_image', file_id: 'file-1', detail: 'low' },
    { type: 'input_file', file_data: 'AAAA', filename: 'a.txt' },
    { type: 'input_file', file_url: 'https://example.com/a.pdf' },
    { type: 'input_file', file_id: 'file-2' },
  ]
  const [message, , output] = await items([
    { role: 'user', content: parts },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: parts },
  ])
  assert.deepEqual(message?.type === 'message' && message.content, kept)
  assert.deepEqual(output?.type === 'function_call_output' && output.output, kept)
})

const user = (part: unknown) => [
  { role: 'user', content: 'Hi' },
  { role: 'user', content: [text('a'), part] },
]
const REFUSED: Array<[input: unknown, code: string, param: string, message: RegExp]> = [
  [[7], 'invalid_type', 'input[0]', /expected an object, but got an integer/],
  [[{}], 'missing_required_parameter', 'input[0].type', /'input\[0\]\.type'/],
  [[{ id: 'a', text: 'b' }], 'missing_required_parameter', 'input[0].type', /./],
  [[{ type: 'tea' }], 'invalid_value', 'input[0].type', /^Invalid value: 'tea'\. Supported values are: 'message', /],
  [[{ type: 'computer_call' }], 'invalid_value', 'input[0].type', /./],
  [[{ type: 7 }], 'invalid_type', 'input[0].type', /./],
  [[{ content: 'x' }], 'missing_required_parameter', 'input[0].role', /./],
  [
    [{ role: 'tool', content: 'x' }],
    'invalid_value',
    'input[0].role',
    /'user', 'assistant', 'developer', and 'system'/,
  ],
  [[{ role: 'user' }], 'missing_required_parameter', 'input[0].content', /./],
  [[{ role: 'user', content: 7 }], 'invalid_type', 'input[0].content', /a string or an array/],
  [user({ type: 'tea' }), 'invalid_value', 'input[1].content[1].type', /'input_text', 'text', 'output_text'/],
  [user({ type: 'input_text' }), 'missing_required_parameter', 'input[1].content[1].text', /./],
  [user({ type: 'refusal', refusal: 'No' }), 'invalid_value', 'input[1].content[1].type', /./],
  [user({ type: 'input_image' }), 'missing_required_parameter', 'input[1].content[1].image_url', /./],
  [user({ type: 'input_image', image_url: 'a', file_id: 'b' }), 'invalid_value', 'input[1].content[1]', /only one of/],
  [user({ type: 'input_image', image_url: 7 }), 'invalid_type', 'input[1].content[1].image_url', /./],
  [user({ type: 'input_image', file_id: 'a', detail: 'x' }), 'invalid_value', 'input[1].content[1].detail', /./],
  [user({ type: 'input_file', filename: 'a' }), 'missing_required_parameter', 'input[1].content[1].file_id', /./],
  [user({ type: 'input_audio', input_audio: {} }), 'invalid_value', 'input[1].content[1].type', /chat\/completions/],
  [user({ type: 'input_video', video_url: 'x' }), 'invalid_value', 'input[1].content[1].type', /chat\/completions/],
  [
    [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_audio' }] }],
    ...(['invalid_value', 'input[0].output[0].type', /chat\/completions/] as const),
  ],
  [[{ role: 'assistant', content: [{ type: 'input_image' }] }], 'invalid_value', 'input[0].content[0].type', /./],
  [[{ type: 'function_call', call_id: 'c', arguments: '{}' }], 'missing_required_parameter', 'input[0].name', /./],
  [[{ type: 'function_call_output', output: 'x' }], 'missing_required_parameter', 'input[0].call_id', /./],
  [[{ type: 'custom_tool_call', call_id: 'c', input: '' }], 'missing_required_parameter', 'input[0].name', /./],
  [[{ type: 'item_reference' }], 'missing_required_parameter', 'input[0].id', /./],
]

test('400 with the path of the mistake in an item or a part', async () => {
  for (const [input, code, param, message] of REFUSED) {
    await assert.rejects(
      () => normal(input),
      (error) => {
        assert.ok(error instanceof ApiError, String(error))
        assert.deepEqual([error.code, error.param], [code, param], JSON.stringify(input))
        assert.match(error.message, message)
        return true
      },
      JSON.stringify(input),
    )
  }
})
