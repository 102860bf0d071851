import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([{ id: 'm' }])
})
after(() => service.close())

const long = (length: number) => 'é'.repeat(length)
const named = (i: number) => ({ type: 'function', name: `t${i}` })

const TEXTS: Array<[param: string, max: number, body: (text: string) => object]> = [
  ['instructions', 1_000_000, (instructions) => ({ instructions })],
  ['tools[0].description', 65_536, (description) => ({ tools: [{ ...named(0), description }] })],
  ['tools[0].description', 65_536, (description) => ({ tools: [{ ...named(0), type: 'custom', description }] })],
  [
    'tools[0].description',
    65_536,
    (description) => ({ tools: [{ type: 'namespace', name: 'n', description, tools: [named(0)] }] }),
  ],
  [
    'tools[0].format.definition',
    65_536,
    (definition) => ({
      tools: [{ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'regex', definition } }],
    }),
  ],
  [
    'text.format.description',
    65_536,
    (description) => ({ text: { format: { type: 'json_schema', name: 'n', schema: {}, description } } }),
  ],
]

for (const [param, max, body] of TEXTS) {
  test(`400: ${param} of more than ${max} characters, and no fewer, in ${JSON.stringify(body('…'))}`, async () => {
    const answer = await post(body(long(max + 1)))
    const { code, param: at } = answer.body.error
    assert.deepEqual([answer.status, code, at], [400, 'string_above_max_length', param])
    assert.equal((await post(body(long(max)))).status, 200)
  })
}

test('400: tools of more than 4,194,304 characters together, and no fewer', async () => {
  const tools = Array.from({ length: 70 }, (_, i) => ({ ...named(i), description: long(60_000) }))
  const answer = await post({ tools })
  const { code, param } = answer.body.error
  assert.deepEqual([answer.status, code, param], [400, 'invalid_value', 'tools'])
  assert.equal((await post({ tools: tools.slice(1) })).status, 200)
})

test('a tool choice is echoed without its unknown members', async () => {
  const choice = { type: 'allowed_tools', mode: 'auto', tools: [{ ...named(0), note: long(100) }] }
  const { body: answered } = await post({ tools: [named(0)], tool_choice: choice })
  assert.deepEqual(answered.tool_choice, { type: 'allowed_tools', mode: 'auto', tools: [named(0)] })
})

const user = (content: string) => ({ role: 'user', content })

test('200: an item of an id with 1,024 characters is stored, listed and referred to', async () => {
  const id = `msg_${'é'.repeat(1020)}`
  const first = await post({ input: [{ ...user('Remember me'), id }, user('Hi')] })
  assert.equal(first.status, 200, first.text)
  const path = `/v1/responses/${first.body.id}/input_items`
  const listed = await send(service.app, 'GET', `${path}?order=asc&limit=1`, { key: service.person.key })
  assert.equal(listed.body.data[0].id, id)
  const rest = await send(service.app, 'GET', `${path}?order=asc&after=${encodeURIComponent(id)}`, service.person)
  assert.equal(rest.body.data.length, 1)
  await post({ input: [{ type: 'item_reference', id }] })
  assert.deepEqual(service.asked().messages, [user('Remember me')])
})

test('200: a conversation of 10,000 items', async () => {
  const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'seen' })
  const answer = { role: 'assistant', content: 'A tree.' }
  const input = Array.from({ length: 2500 }, (_, i) => [user('Hi'), call(`c${i}`), output(`c${i}`), answer]).flat()
  assert.equal((await post({ input })).status, 200)
  assert.equal(service.asked().messages.length, 10_000)
})

function post(body: object) {
  return send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'm', input: 'Hi', ...body })
}
