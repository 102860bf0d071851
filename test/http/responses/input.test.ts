import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { turnSocket } from '../../support/http/socket/turns.ts'

const MODELS = [
  { id: 'm', engine: { developer_role: true, system_messages: 'separate', fetches_urls: true } },
  { id: 'merged', engine: { developer_role: true, fetches_urls: true } },
]

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const user = (content: unknown) => ({ role: 'user', content })
const call = (call_id: string, more = {}) => ({
  type: 'function_call',
  call_id,
  name: 'look',
  arguments: '{"at":1}',
  ...more,
})
const output = (call_id: string, output: unknown = 'seen') => ({ type: 'function_call_output', call_id, output })
const asked = (id: string, name = 'look', text = '{"at":1}') => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
const toolMessage = (tool_call_id: string, content = 'seen') => ({ role: 'tool', tool_call_id, content })
const text = (text: string) => ({ type: 'input_text', text })

test('200: a string input is a user message, instructions are the first system message', async () => {
  assert.deepEqual(await given('Hi'), [{ role: 'user', content: 'Hi' }])
  assert.deepEqual(await given([user('Hi')], { instructions: 'Be brief.' }), [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ])
  assert.deepEqual(await given('Hi', { instructions: '' }), [{ role: 'user', content: 'Hi' }])
})

test('200: messages keep their roles; one text is a string, several are parts', async () => {
  const messages = await given([
    { role: 'system', content: 'a' },
    { role: 'developer', content: [text('b'), { type: 'text', text: 'c' }] },
    { role: 'user', content: [text('d')] },
    { role: 'assistant', content: 'e', phase: 'analysis', status: 'failed' },
    {
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'f' },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    user([text('g'), { type: 'output_text', text: 'h' }]),
  ])
  const parts = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }))
  assert.deepEqual(messages, [
    { role: 'system', content: 'a' },
    { role: 'developer', content: parts('b', 'c') },
    { role: 'user', content: 'd' },
    { role: 'assistant', content: 'e' },
    { role: 'assistant', content: 'f', refusal: 'No.' },
    { role: 'user', content: parts('g', 'h') },
  ])
})

test('200: adjacent calls and the text just before them are one message, followed by the outputs', async () => {
  const messages = await given([
    user('Hi'),
    { role: 'assistant', content: 'First.' },
    { role: 'assistant', content: 'Looking.' },
    call('call_a'),
    call('call_b'),
    output('call_b', 'two'),
    output('call_a', [text('one'), { type: 'output_text', text: 'more' }]),
    call('call_c'),
    output('call_c'),
    { role: 'assistant', content: 'Done.' },
    user('And?'),
  ])
  assert.deepEqual(messages.slice(1, -2), [
    { role: 'assistant', content: 'First.' },
    { role: 'assistant', content: 'Looking.', tool_calls: [asked('call_a'), asked('call_b')] },
    toolMessage('call_b', 'two'),
    toolMessage('call_a', 'one\nmore'),
    { role: 'assistant', content: null, tool_calls: [asked('call_c')] },
    toolMessage('call_c'),
  ])
})

const assistant = (content: string) => ({ role: 'assistant', content })
const calls = (content: string | null, ...ids: string[]) => ({
  role: 'assistant',
  content,
  tool_calls: ids.map((id) => asked(id)),
})

/** An output follows its call, as model servers require, so what comes between them goes before the call. */
const BETWEEN: ReadonlyArray<[title: string, input: unknown[], messages: object[]]> = [
  [
    'a message of the user',
    [user('Hi'), call('a'), user('Wait.'), output('a'), user('On.')],
    [user('Hi'), user('Wait.'), calls(null, 'a'), toolMessage('a'), user('On.')],
  ],
  [
    'a message between the calls, and one between the outputs',
    [call('a'), user('1'), call('b'), user('2'), output('a'), user('3'), output('b'), user('4')],
    [user('1'), user('2'), user('3'), calls(null, 'a', 'b'), toolMessage('a'), toolMessage('b'), user('4')],
  ],
  [
    'text of the assistant, which is then the text just before the call',
    [call('a'), user('Wait.'), assistant('Yes.'), output('a')],
    [user('Wait.'), calls('Yes.', 'a'), toolMessage('a')],
  ],
  [
    'a message after text and a call: the text stays where it was',
    [user('Hi'), assistant('Looking.'), call('a'), user('Wait.'), output('a')],
    [user('Hi'), assistant('Looking.'), user('Wait.'), calls(null, 'a'), toolMessage('a')],
  ],
  [
    'nothing: the message is before a second output of the call, and a later call is another message',
    [call('a'), output('a'), user('Hi'), output('a', '2'), call('b'), output('b'), call('c'), output('c')],
    [
      calls(null, 'a'),
      toolMessage('a'),
      toolMessage('a', '2'),
      user('Hi'),
      calls(null, 'b'),
      toolMessage('b'),
      calls(null, 'c'),
      toolMessage('c'),
    ],
  ],
]

for (const [title, input, messages] of BETWEEN) {
  test(`200: between a call and its output there is ${title}`, async () => {
    assert.deepEqual(await given(input), messages)
  })
}

test('200: images in outputs and instructions follow as a user message, after all outputs', async () => {
  const picture = (name: string) => ({ type: 'input_image', image_url: `https://93.184.215.14/${name}.png` })
  const part = (name: string) => ({
    type: 'image_url',
    image_url: { url: `https://93.184.215.14/${name}.png`, detail: 'auto' },
  })
  const messages = await given([
    { role: 'developer', content: [text('As here:'), picture('rule')] },
    call('call_a'),
    call('call_b'),
    output('call_a', [picture('one'), text('A page.')]),
    output('call_b', 'nothing'),
  ])
  assert.deepEqual(messages, [
    { role: 'developer', content: 'As here:' },
    { role: 'user', content: [part('rule')] },
    { role: 'assistant', content: null, tool_calls: [asked('call_a'), asked('call_b')] },
    toolMessage('call_a', 'A page.'),
    toolMessage('call_b', 'nothing'),
    { role: 'user', content: [part('one')] },
  ])
})

test('200: instructions and developer messages are one message at the start; their pictures stay where they are', async () => {
  const picture = { type: 'input_image', image_url: 'https://93.184.215.14/rule.png' }
  const part = { type: 'image_url', image_url: { url: picture.image_url, detail: 'auto' } }
  const input = [
    user('Hi'),
    { role: 'developer', content: [text('As here:'), picture, text('And so on.')] },
    { role: 'developer', content: '' },
    user('Go on.'),
  ]
  assert.deepEqual(await given(input, { model: 'merged', instructions: 'Be brief.' }), [
    { role: 'system', content: 'Be brief.\n\nAs here:\nAnd so on.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }, part, { type: 'text', text: 'Go on.' }] },
  ])
  assert.deepEqual(await given([user('Hi'), { role: 'developer', content: 'A.' }], { model: 'merged' }), [
    { role: 'developer', content: 'A.' },
    user('Hi'),
  ])
})

test('200: calls of custom tools and namespaces have the names that the model knows', async () => {
  const tools = [
    { type: 'custom', name: 'shell' },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
  ]
  const input = [
    user('Hi'),
    { type: 'custom_tool_call', call_id: 'call_a', name: 'shell', input: 'ls "x"\n' },
    call('call_b', { name: 'read', namespace: 'files' }),
    call('call_c', { name: 'gone', namespace: 'files' }),
    { type: 'custom_tool_call_output', call_id: 'call_a', output: 'x' },
    output('call_b'),
    output('call_c'),
  ]
  const messages = await given(input, { tools })
  assert.deepEqual(messages[1].tool_calls, [
    asked('call_a', 'shell', '{"input":"ls \\"x\\"\\n"}'),
    asked('call_b', 'files__read'),
    asked('call_c', 'files__gone'),
  ])
  assert.deepEqual(
    service.asked().tools.map((tool: { function: { name: string } }) => tool.function.name),
    ['shell', 'files__read'],
  )
})

test('200: calls without arguments or input', async () => {
  const calls = [undefined, null, ''].flatMap((text, i) => [
    { type: 'function_call', call_id: `f${i}`, name: 'look', namespace: '', status: '', arguments: text },
    { ...output(`f${i}`), status: 'failed' },
    { type: 'custom_tool_call', status: 'calling', call_id: `c${i}`, name: 'shell', input: text },
    { ...output(`c${i}`, null), type: 'custom_tool_call_output' },
  ])
  const sent = (await given([user('Hi'), ...calls])).flatMap(({ tool_calls }) => tool_calls ?? [])
  assert.deepEqual(
    sent.map((each) => each.function.arguments),
    ['{}', '{"input":""}', '{}', '{"input":""}', '{}', '{"input":""}'],
  )
})

test('200: items of other services are left out with their outputs, and named in a header of every kind of answer', async () => {
  const input = [
    user('Hi'),
    {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'l1',
      status: 'completed',
      action: { type: 'exec', command: ['ls'] },
    },
    output('l1', 'a.txt'),
    { type: 'mcp_call', id: 'mcp_1', name: 'find', arguments: '{}', output: 'x' },
    { type: 'tool_search_call', call_id: 't1', arguments: {} },
    { type: 'tool_search_output', call_id: 't1', tools: [] },
    { type: 'agent_message', author: 'a', content: [] },
    { type: 'reasoning', summary: [], encrypted_content: 'gAAAAABo' },
    { type: 'reasoning', summary: ['Hm'], content: [{ type: 'text', text: 'Hm' }] },
    { type: 'compaction', encrypted_content: 'gAAAAABo' },
    ...[{ encrypted_content: null }, { encrypted_content: '' }, {}].map((more) => ({ type: 'compaction', ...more })),
    { type: 'new, "type"\n', id: 'x' },
    user('Go on'),
  ]
  const names = [
    ...['local_shell_call', 'mcp_call', 'tool_search_call', 'tool_search_output', 'agent_message', 'reasoning'],
    ...['compaction', 'new??"type"?', 'function_call_output'],
  ].join(', ')
  for (const more of [{}, { stream: true }, { background: true }]) {
    const { status, headers, text } = await respond({ input, ...more })
    assert.deepEqual([status, headers.get('x-dropped-items')], [200, names], text)
  }
  const counted = await send(service.app, 'POST', '/v1/responses/input_tokens', service.person, { model: 'm', input })
  assert.deepEqual([counted.status, counted.headers.get('x-dropped-items')], [200, names])
  assert.deepEqual(await given(input), [user('Hi'), user('Go on')])
  const socket = await turnSocket(service.app.url, service.person)
  const { response } = await socket.turn({ model: 'm', store: false, input })
  assert.equal(response?.status, 'completed')
  assert.deepEqual(service.asked().messages, [user('Hi'), user('Go on')])
  await socket.close()
  const nothing = await respond({ input: [input[2], input[1]] })
  assert.deepEqual([nothing.status, nothing.body.error.param], [400, 'input[1].type'])
  assert.match(nothing.body.error.message, /^Invalid value: 'local_shell_call'/)
  for (const encrypted_content of ['gAAAAABo', null]) {
    const unread = await respond({ input: [{ type: 'compaction', encrypted_content }] })
    assert.deepEqual([unread.status, unread.body.error.param], [400, 'input'])
  }
})

test('400 for an output without a call and for a call without an output', async () => {
  const cases = [
    [[output('call_x')], 'tool_call_not_found', 'input[0].call_id'],
    [[output('call_x'), call('call_x')], 'tool_call_not_found', 'input[0].call_id'],
    [[user('Hi'), call('call_x'), user('Go on')], 'tool_output_missing', 'input[1]'],
  ] as const
  for (const [input, code, param] of cases) {
    const { status, body } = await respond({ input })
    assert.deepEqual([status, body.error.code, body.error.param], [400, code, param])
  }
  assert.equal(service.upstream.requests.length, 0)
})

function respond(changes: Record<string, unknown>): Promise<HttpResponse> {
  return send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'm', ...changes })
}

/** The messages the engine was given for this input. */
// biome-ignore lint/suspicious/noExplicitAny: messages of many shapes.
async function given(input: unknown, changes: Record<string, unknown> = {}): Promise<any[]> {
  const { status, body } = await respond({ input, store: false, ...changes })
  assert.equal(status, 200, JSON.stringify(body))
  return service.asked().messages
}
