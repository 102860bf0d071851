import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { missing, short, value, wrong } from './rows/make-rows.ts'
import { asks, call, TAKEN, text, toolMessage, USER } from './rows/message-rows.ts'

const MODELS = [
  { id: 'm' },
  { id: 'developer', engine: { developer_role: true } },
  { id: 'separate', engine: { system_messages: 'separate' } },
  { id: 'strict', engine: { assistant_after_tool: true } },
  { id: 'recalls', engine: { reasoning_content_input: true } },
]

const user = (...content: unknown[]) => ({ role: 'user', content })

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

for (const [title, messages, upstream] of TAKEN) {
  test(`200 for ${title}`, async () => {
    const { status, body } = await service.chat({ messages })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(service.asked().messages, upstream === 'same' ? messages : upstream)
  })
}

test('200 for several system messages: one at the start, or where they are if so configured', async () => {
  const rules = { role: 'system', content: [text('a'), text('b')], name: 'rules' }
  const messages = [USER, rules, { role: 'assistant', content: 'y' }, { role: 'system', content: 'c' }, USER]
  await service.chat({ messages })
  assert.deepEqual(service.asked().messages, [
    { role: 'system', content: 'a\nb\n\nc' },
    USER,
    { role: 'assistant', content: 'y' },
    USER,
  ])
  await service.chat({ messages: [USER, rules] })
  assert.deepEqual(service.asked().messages, [rules, USER], 'the only one is moved as it is')
  const empty = { role: 'system', content: '' }
  await service.chat({ messages: [empty, { role: 'developer', content: '\n' }, USER] })
  assert.deepEqual(service.asked().messages, [empty, USER])
  await service.chat({ model: 'separate', messages })
  assert.deepEqual(service.asked().messages, messages)
})

test('200 for messages of the user in a row: one, or as they are if so configured', async () => {
  const messages = [USER, { role: 'user', content: 'b' }, user(text('c')), { ...USER, name: 'ann' }, USER, asks('c1')]
  await service.chat({ messages })
  assert.deepEqual(service.asked().messages, [
    user(text('Hi\n\nb'), text('c')),
    { ...USER, name: 'ann' },
    USER,
    asks('c1'),
  ])
  await service.chat({ model: 'separate', messages })
  assert.deepEqual(service.asked().messages, messages)
})

test('200 for a message of the user after a tool’s: one of the assistant is between them where the server wants it', async () => {
  const messages = [USER, asks('c1', 'c2'), toolMessage('c1'), toolMessage('c2'), USER]
  await service.chat({ model: 'strict', messages })
  assert.deepEqual(service.asked().messages, messages.toSpliced(4, 0, { role: 'assistant', content: 'Understood.' }))
  await service.chat({ messages })
  assert.deepEqual(service.asked().messages, messages)
})

test('200 for a developer message with its role, and for earlier reasoning under either name, where the server accepts them', async () => {
  const messages = [{ role: 'developer', content: 'Be brief' }, USER]
  await service.chat({ model: 'developer', messages })
  assert.deepEqual(service.asked().messages, messages)
  for (const name of ['reasoning_content', 'reasoning']) {
    await service.chat({ model: 'recalls', messages: [USER, { role: 'assistant', content: 'y', [name]: 'hm' }] })
    assert.deepEqual(service.asked().messages[1], {
      role: 'assistant',
      content: 'y',
      reasoning_content: 'hm',
      reasoning: 'hm',
    })
  }
})

const uncalled = (i: number, id: string) => {
  const param = `messages[${i}].tool_call_id`
  const message = `Invalid '${param}': no tool call '${id}' in the assistant message before. Each tool message answers one of its 'tool_calls'.`
  return ['invalid_value', message, param] as const
}
const ROLES = "Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'."
const PARTS = "Supported values are: 'text', 'image_url', 'video_url', 'audio_url', 'input_audio', and 'file'."

type Refusal = [messages: unknown[], refusal: readonly [code: string, message: string, param: string]]
const REFUSED: Record<string, Refusal[]> = {
  'a message that is no object': [
    [['Hi'], wrong('messages[0]', 'an object', 'a string')],
    [[USER, null], wrong('messages[1]', 'an object', 'null')],
    [[[USER]], wrong('messages[0]', 'an object', 'an array')],
  ],
  'a role that does not exist': [
    [[{ content: 'Hi' }], missing('messages[0].role')],
    [[USER, { role: 'function', name: 'f', content: 'x' }], value('messages[1].role', 'function', ROLES)],
    [[{ role: 'User', content: 'x' }], value('messages[0].role', 'User', ROLES)],
    [[{ role: 7, content: 'x' }], wrong('messages[0].role', 'a string', 'an integer')],
  ],
  'content that is absent or of a wrong type': [
    ...['system', 'developer', 'user'].flatMap((role): Refusal[] => [
      [[{ role }], missing('messages[0].content')],
      [[{ role, content: null }], wrong('messages[0].content', 'a string or an array', 'null')],
      [[{ role, content: 7 }], wrong('messages[0].content', 'a string or an array', 'an integer')],
      [[{ role, content: text('Hi') }], wrong('messages[0].content', 'a string or an array', 'an object')],
      [[{ role, content: [] }], short('messages[0].content', 'array')],
      [[{ role, content: ['Hi'] }], wrong('messages[0].content[0]', 'an object', 'a string')],
    ]),
    [[{ ...USER, name: 7 }], wrong('messages[0].name', 'a string', 'an integer')],
  ],
  'a part that is not one': [
    [[user({ text: 'Hi' })], missing('messages[0].content[0].type')],
    [[user(text('a'), { type: 'input_text', text: 'Hi' })], value('messages[0].content[1].type', 'input_text', PARTS)],
    [[user({ type: 'text' })], missing('messages[0].content[0].text')],
    [[user({ type: 'text', text: 7 })], wrong('messages[0].content[0].text', 'a string', 'an integer')],
    [[user({ type: 'refusal', refusal: 'x' })], value('messages[0].content[0].type', 'refusal', PARTS)],
  ],
  'a picture, clip or sound without its address': ['image_url', 'video_url', 'audio_url'].flatMap((type): Refusal[] => {
    const path = `messages[0].content[0].${type}`
    return [
      [[user({ type })], missing(path)],
      [[user({ type, [type]: '' })], short(path, 'string')],
      [[user({ type, [type]: 7 })], wrong(path, 'an object or a string', 'an integer')],
      [[user({ type, [type]: {} })], missing(`${path}.url`)],
      [[user({ type, [type]: { url: 7 } })], wrong(`${path}.url`, 'a string', 'an integer')],
      [[user({ type, [type]: { url: '' } })], short(`${path}.url`, 'string')],
    ]
  }),
  'a detail, sound or file of a wrong shape': [
    [
      [user({ type: 'image_url', image_url: { url: 'https://example.com/a', detail: 'max' } })],
      value(
        'messages[0].content[0].image_url.detail',
        'max',
        "Supported values are: 'auto', 'low', 'high', and 'original'.",
      ),
    ],
    [
      [user({ type: 'input_audio', input_audio: { format: 'wav' } })],
      missing('messages[0].content[0].input_audio.data'),
    ],
    [[user({ type: 'file' })], missing('messages[0].content[0].file')],
    [[user({ type: 'file', file: {} })], missing('messages[0].content[0].file.file_id')],
    [[user({ type: 'file', file: { filename: 'a.txt' } })], missing('messages[0].content[0].file.file_id')],
    [
      [user({ type: 'file', file: { file_id: 7 } })],
      wrong('messages[0].content[0].file.file_id', 'a string', 'an integer'),
    ],
    [
      [user({ type: 'file', file: { file_id: 'file-1', file_data: 'AAAA' } })],
      [
        'invalid_value',
        "Invalid 'messages[0].content[0].file': give either 'file_id' or 'file_data', not both.",
        'messages[0].content[0].file',
      ],
    ],
  ],
  'media where only text may stand': ['system', 'developer'].map((role): Refusal => {
    const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a' } }]
    return [[{ role, content }], value('messages[0].content[0].type', 'image_url', "Supported value is: 'text'.")]
  }),
  'tool calls of a wrong shape': [
    [[USER, { role: 'assistant', tool_calls: {} }], wrong('messages[1].tool_calls', 'an array', 'an object')],
    [
      [USER, { role: 'assistant', tool_calls: [{ ...call('c'), id: undefined }] }],
      missing('messages[1].tool_calls[0].id'),
    ],
    [[USER, { role: 'assistant', tool_calls: [call('')] }], short('messages[1].tool_calls[0].id', 'string')],
    [
      [USER, { role: 'assistant', tool_calls: [{ ...call('c'), type: 'custom' }] }],
      value('messages[1].tool_calls[0].type', 'custom', "Supported value is: 'function'."),
    ],
    [
      [USER, { role: 'assistant', tool_calls: [{ ...call('c'), function: { name: 'f', arguments: 7 } }] }],
      wrong('messages[1].tool_calls[0].function.arguments', 'a string or an object', 'an integer'),
    ],
  ],
  'a tool message that answers no call of the assistant message before': [
    [[USER, { role: 'tool', content: 'x' }], missing('messages[1].tool_call_id')],
    [[toolMessage('c1')], uncalled(0, 'c1')],
    [[USER, toolMessage('c1')], uncalled(1, 'c1')],
    [[USER, asks('c1'), toolMessage('c2')], uncalled(2, 'c2')],
    [[USER, asks('c1'), toolMessage('c1'), toolMessage('c2')], uncalled(3, 'c2')],
    [[USER, asks('c1'), USER, toolMessage('c1')], uncalled(3, 'c1')],
    [[USER, asks('c1'), toolMessage('c1'), { role: 'assistant', content: 'x' }, toolMessage('c1')], uncalled(4, 'c1')],
    [[USER, { role: 'assistant', content: 'x' }, toolMessage('c1')], uncalled(2, 'c1')],
    [
      [USER, asks('c1'), toolMessage('c1', 7)],
      wrong('messages[2].content', 'a string or an array or an object', 'an integer'),
    ],
  ],
}

for (const [title, cases] of Object.entries(REFUSED)) {
  test(`400 for ${title}`, async () => {
    for (const [messages, [code, message, param]] of cases) {
      const { status, body } = await service.chat({ messages })
      assert.equal(status, 400, JSON.stringify(messages))
      assert.deepEqual(body, { error: { message, type: 'invalid_request_error', param, code } })
    }
    assert.equal(service.upstream.requests.length, 0)
  })
}
