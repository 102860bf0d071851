import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../platform/errors.ts'
import { checkToolChoice, checkTools } from './check/tools.ts'
import { forwardTools } from './tools.ts'

const forward = (tools: unknown[], tool_choice?: unknown) =>
  forwardTools({
    tools: checkTools(tools),
    ...(tool_choice === undefined ? {} : { tool_choice: checkToolChoice(tool_choice) }),
  })

const look = { type: 'function', name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: true }
const shell = { type: 'custom', name: 'shell', format: { type: 'grammar', syntax: 'lark', definition: 'start: "ls"' } }
const files = {
  type: 'namespace',
  name: 'files',
  description: 'Files',
  tools: [{ type: 'function', name: 'read' }, shell],
}
const INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

test('a function is forwarded as it is, and echoed with null for members it omits', () => {
  const { tools, tool_choice, names, echo, dropped } = forward([look, { type: 'function', name: 'bare', later: 1 }])
  const { name, description, parameters, strict } = look
  assert.deepEqual(tools, [
    { type: 'function', function: { name, description, parameters, strict } },
    { type: 'function', function: { name: 'bare' } },
  ])
  assert.equal(tool_choice, 'auto')
  assert.deepEqual(names.get('look'), { name: 'look', kind: 'function' })
  assert.deepEqual(echo.tools, [
    look,
    { type: 'function', name: 'bare', description: null, parameters: null, strict: null },
  ])
  assert.deepEqual(dropped, [])
})

test('a custom tool is a function of one string, with its grammar in the description', () => {
  const plain = { type: 'custom', name: 'note', description: 'Notes' }
  const { tools, names, echo } = forward([shell, plain])
  const [first, second] = tools.map((tool) => tool.function)
  assert.deepEqual(first, {
    name: 'shell',
    description: 'The input must match this grammar, written in Lark:\nstart: "ls"',
    parameters: INPUT,
  })
  assert.deepEqual(second, { name: 'note', description: 'Notes', parameters: INPUT })
  assert.deepEqual(names.get('shell'), { name: 'shell', kind: 'custom' })
  assert.deepEqual(echo.tools, [
    { ...shell, description: null },
    { ...plain, format: { type: 'text' } },
  ])
})

test('tools of a namespace are forwarded under joined names, which calls resolve to namespace and name', () => {
  const { tools, names, nameOf, echo } = forward([files])
  assert.deepEqual(
    tools.map((tool) => tool.function.name),
    ['files__read', 'files__shell'],
  )
  assert.deepEqual(names.get('files__shell'), { name: 'shell', namespace: 'files', kind: 'custom' })
  assert.equal(nameOf({ name: 'read', namespace: 'files' }), 'files__read')
  assert.equal(nameOf({ name: 'gone', namespace: 'files' }), 'files__gone')
  assert.equal(nameOf({ name: 'read' }), 'read')
  const read = { type: 'function', name: 'read', description: null, parameters: null, strict: null }
  assert.deepEqual(echo.tools, [{ ...files, tools: [read, { ...shell, description: null }] }])
})

test('joined names over 64 characters, or with other characters, become unique and stable hashed names', () => {
  const long = (end: string) => ({ type: 'function', name: 'n'.repeat(60) + end })
  const namespace = {
    type: 'namespace',
    name: 'mcp',
    tools: [long('a'), long('b'), { type: 'function', name: 'lire/é' }],
  }
  const { tools, names, nameOf } = forward([namespace])
  const forwarded = tools.map((tool) => tool.function.name)
  assert.equal(new Set(forwarded).size, 3)
  for (const name of forwarded) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
  assert.deepEqual(names.get(forwarded[1]!), { name: long('b').name, namespace: 'mcp', kind: 'function' })
  assert.equal(nameOf({ name: long('a').name, namespace: 'mcp' }), forwarded[0])
  assert.equal(forward([]).nameOf({ name: long('a').name, namespace: 'mcp' }), forwarded[0])
})

test('a joined name that is also another tool’s name is hashed, whichever comes first', () => {
  const joined = { type: 'function', name: 'files__read' }
  const other = { type: 'namespace', name: 'files__', tools: [{ type: 'function', name: 'read' }] }
  const odd = { type: 'namespace', name: 'files', tools: [{ type: 'function', name: '__read' }] }
  for (const tools of [
    [joined, files, other, odd],
    [odd, other, files, joined],
  ]) {
    const { names, nameOf, tools: forwarded } = forward(tools)
    assert.equal(new Set(forwarded.map((tool) => tool.function.name)).size, 5)
    assert.deepEqual(names.get('files__read'), { name: 'files__read', kind: 'function' })
    assert.deepEqual(names.get(nameOf({ name: 'read', namespace: 'files' })), {
      name: 'read',
      namespace: 'files',
      kind: 'function',
    })
  }
})

test('types of dropped tools are listed once each, as plain words', () => {
  const others = ['web_search', 'mcp', 'computer_use_preview', 'web_search', 'image_generation', 'x\r\ny: z']
  const { tools, dropped, echo } = forward([...others.map((type) => ({ type, name: 'x' })), look])
  assert.equal(tools.length, 1)
  assert.deepEqual(echo.tools, [look])
  assert.deepEqual(dropped, ['web_search', 'mcp', 'computer_use_preview', 'image_generation', 'unknown'])
})

test('a choice is forwarded under the name the model knows', () => {
  const named = (name: string) => ({ type: 'function', function: { name } })
  const cases: Array<[choice: unknown, forwarded: unknown, echo?: unknown]> = [
    ['none', 'none'],
    ['required', 'required'],
    [{ type: 'function', name: 'look' }, named('look')],
    [
      { type: 'custom', name: 'shell', namespace: null },
      named('files__shell'),
      { type: 'custom', name: 'shell', namespace: 'files' },
    ],
    [{ type: 'function', name: 'read', namespace: 'files' }, named('files__read')],
  ]
  for (const [choice, forwarded, echo = choice] of cases) {
    const { tool_choice, echo: echoed } = forward([look, files], choice)
    assert.deepEqual(tool_choice, forwarded)
    assert.deepEqual(echoed.tool_choice, echo)
  }
  assert.deepEqual(forward([]).tool_choice, undefined)
  assert.deepEqual(forward([], 'none').echo, { tools: [], tool_choice: 'none' })
})

test('only the allowed tools are forwarded and echoed, with the mode as the choice', () => {
  const allowed = { type: 'allowed_tools', tools: [{ type: 'function', name: 'read', namespace: 'files' }] }
  const { tools, tool_choice, echo, names } = forward([look, files, { type: 'web_search' }], allowed)
  assert.deepEqual(
    tools.map((tool) => tool.function.name),
    ['files__read'],
  )
  assert.equal(tool_choice, 'auto')
  assert.deepEqual([...names.keys()], ['files__read'])
  assert.deepEqual(echo.tool_choice, { ...allowed, mode: 'auto' })
  assert.deepEqual(
    echo.tools.map((tool) => tool.name),
    ['files'],
  )
  assert.equal(forward([look], { ...allowed, mode: 'required', tools: [look] }).tool_choice, 'required')
})

const REFUSED: Array<[tools: unknown[], choice: unknown, code: string, param: string]> = [
  [[look], { type: 'function', name: 'gone' }, 'invalid_value', 'tool_choice.name'],
  [[look], { type: 'custom', name: 'look' }, 'invalid_value', 'tool_choice.name'],
  [[look], { type: 'function' }, 'missing_required_parameter', 'tool_choice.name'],
  [[look], 'any', 'invalid_value', 'tool_choice'],
  [[look], 7, 'invalid_type', 'tool_choice'],
  [[look], {}, 'missing_required_parameter', 'tool_choice.type'],
  [[{ type: 'web_search' }], { type: 'web_search' }, 'invalid_value', 'tool_choice.type'],
  [[{ type: 'web_search' }], 'required', 'invalid_value', 'tool_choice'],
  [[], 'required', 'invalid_value', 'tool_choice'],
  [[look], { type: 'allowed_tools', tools: [] }, 'array_below_min_length', 'tool_choice.tools'],
  [
    [look],
    { type: 'allowed_tools', tools: [look, { type: 'function', name: 'x' }] },
    'invalid_value',
    'tool_choice.tools[1].name',
  ],
  [[look], { type: 'allowed_tools', tools: [{ type: 'mcp' }] }, 'invalid_value', 'tool_choice.tools[0].type'],
  [[look], { type: 'allowed_tools', mode: 'none', tools: [look] }, 'invalid_value', 'tool_choice.mode'],
  [[look, look], undefined, 'invalid_value', 'tools[1].name'],
  [[look, { ...shell, name: 'look' }], undefined, 'invalid_value', 'tools[1].name'],
  [[files, files], undefined, 'invalid_value', 'tools[1].tools[0].name'],
  [[{ ...look, name: 'a b' }], undefined, 'invalid_value', 'tools[0].name'],
  [[{ type: 'function' }], undefined, 'missing_required_parameter', 'tools[0].name'],
  [[{ name: 'x' }], undefined, 'missing_required_parameter', 'tools[0].type'],
  [[{ ...files, tools: [{ type: 'mcp' }] }], undefined, 'invalid_value', 'tools[0].tools[0].type'],
  [[{ ...look, parameters: { x: 'x'.repeat(65_536) } }], undefined, 'invalid_value', 'tools[0].parameters'],
]

test('400 for an invalid tool or choice, with its path', () => {
  for (const [tools, choice, code, param] of REFUSED) {
    assert.throws(
      () => forward(tools, choice),
      (error) => {
        assert.ok(error instanceof ApiError, String(error))
        assert.deepEqual([error.code, error.param], [code, param])
        return true
      },
      JSON.stringify([tools, choice]).slice(0, 200),
    )
  }
})
