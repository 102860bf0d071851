import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type BackgroundApp, startBackgroundApp } from '../support/http/background-app.ts'
import type { Asked } from '../support/http/chat-app.ts'
import { eventsOf } from '../support/http/metered-chat-app.ts'
import { readEvents, replyOf } from '../support/http/response-requests.ts'
import { send } from '../support/http/send.ts'
import { type TurnSocket, turnSocket } from '../support/http/socket/turns.ts'
import { completion, type UpstreamReply } from '../support/upstream/chat-upstream.ts'

let service: BackgroundApp
let socket: TurnSocket
before(async () => {
  service = await startBackgroundApp()
  socket = await turnSocket(service.app.url, service.person)
})
after(async () => {
  await socket.close()
  await service.close()
})
beforeEach(() => service.upstream.requests.splice(0))

/** Two of them make a body that is parsed in pieces. */
const LONG = 'x'.repeat(40_000)
/** What tools and models write, and what it becomes. */
const TEXTS: ReadonlyArray<[written: string, repaired: string]> = [
  ['ELF\u0000\u0001', 'ELF\ufffd\u0001'],
  ['I like \ud83d', 'I like \ufffd'],
  ['\ude00 cut', '\ufffd cut'],
  ['whole \u{1f600}', 'whole \u{1f600}'],
  [`${LONG}\u0000${LONG}`, `${LONG}\ufffd${LONG}`],
]

const post = (path: string, body: object) => send(service.app, 'POST', path, { key: service.person.key }, body)
const respond = (body: object) => post('/v1/responses', { model: 'm', ...body })
const chat = (body: object) => post('/v1/chat/completions', { model: 'm', ...body })
const asked = () => service.upstream.requests.at(-1)!.json!.messages as Array<{ content: unknown }>

const call = (id: string) => ({ id, type: 'function', function: { name: 'run', arguments: '{}' } })

test('200 for the output of a tool that cannot be stored: chat sends the model U+FFFD instead', async () => {
  for (const [written, repaired] of TEXTS) {
    const messages = [
      { role: 'user', content: written },
      { role: 'assistant', content: [{ type: 'text', text: written }], tool_calls: [call('c1')] },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: written }] },
    ]
    const { status, text } = await chat({ messages })
    assert.equal(status, 200, text.slice(0, 300))
    const part = [{ type: 'text', text: repaired }]
    assert.deepEqual(
      asked().map(({ content }) => content),
      [repaired, part, part],
    )
  }
})

const inputOf = (written: string) => [
  { role: 'user', content: written },
  { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: written }] },
]

test('200 for the same in responses, plain, in the background and on a socket, and it is stored repaired', async () => {
  for (const [written, repaired] of TEXTS) {
    const input = inputOf(written)
    const plain = await respond({ input, instructions: written })
    assert.equal(plain.status, 200, plain.text.slice(0, 300))
    assert.equal(plain.body.instructions, repaired)
    const queued = await respond({ input, background: true })
    assert.equal(queued.status, 200, queued.text.slice(0, 300))
    assert.equal((await service.ended(queued.body.id)).status, 'completed')
    const turn = await socket.turn({ model: 'm', input })
    assert.equal(turn.response?.status, 'completed', JSON.stringify(turn.last).slice(0, 300))
    for (const id of [plain.body.id, queued.body.id, turn.response.id]) {
      const items = (await service.call('GET', `${id}/input_items?order=asc`)).body.data
      assert.deepEqual([items[0].content[0].text, items[2].output[0].text], [repaired, repaired])
    }
    for (const { json } of service.upstream.requests) {
      const sent = (json!.messages as Array<{ content: string }>).filter(({ content }) => content !== null)
      assert.deepEqual(new Set(sent.map(({ content }) => content)), new Set([repaired]))
    }
    service.upstream.requests.splice(0)
  }
})

test('200 for what is only called a name: in metadata, schemas, extra content and items of other services', async () => {
  const named = { name: 'Bob \ud83d', user: { id: 'a\u0000' }, type: '\ude00' }
  const repaired = { name: 'Bob \ufffd', user: { id: 'a\ufffd' }, type: '\ufffd' }
  const parameters = { type: 'object', properties: { at: { type: 'string', default: named } } }
  const look = { name: 'look', parameters }
  const json_schema = { name: 'n', schema: parameters }
  const chatted = await chat({
    metadata: { name: named.name },
    tools: [{ type: 'function', function: look }],
    response_format: { type: 'json_schema', json_schema },
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', tool_calls: [{ ...call('c1'), extra_content: named }] },
      { role: 'tool', tool_call_id: 'c1', content: 'x' },
    ],
  })
  assert.equal(chatted.status, 200, chatted.text)
  const { messages, tools, response_format } = service.upstream.requests.at(-1)!.json as Asked
  const { properties } = tools[0].function.parameters
  assert.deepEqual([properties.at.default, messages[1].tool_calls[0].extra_content], [repaired, repaired])
  assert.deepEqual(response_format.json_schema.schema.properties.at.default, repaired)
  const body = {
    metadata: { name: named.name },
    tools: [{ type: 'function', ...look }],
    text: { format: { type: 'json_schema', ...json_schema } },
    input: [
      { type: 'local_shell_call', call_id: 'l1', action: { env: named } },
      { role: 'user', content: 'Hi' },
    ],
  }
  const plain = await respond(body)
  assert.deepEqual([plain.status, plain.body.metadata], [200, { name: repaired.name }], plain.text)
  const turn = await socket.turn({ model: 'm', ...body })
  assert.deepEqual(turn.response?.tools, plain.body.tools, JSON.stringify(turn.last).slice(0, 300))
})

test('400 for a name or an id that cannot be stored, and for the name of a member', async () => {
  const cases: Array<[body: object, param: string | null]> = [
    [{ input: 'Hi', model: 'm\u0000' }, 'model'],
    [{ input: 'Hi', previous_response_id: '\ud83d' }, 'previous_response_id'],
    [{ input: [{ role: 'user', content: 'Hi', id: 'a\u0000' }] }, 'input[0].id'],
    [{ input: [{ type: 'function_call', call_id: '\ud83d', name: 'a', arguments: '' }] }, 'input[0].call_id'],
    [{ input: 'Hi', tools: [{ type: 'function', name: 'a\u0000' }] }, 'tools[0].name'],
    [{ input: 'Hi', metadata: { 'a\u0000': 'b' } }, 'metadata'],
  ]
  for (const [body, param] of cases) {
    const answer = await respond(body)
    assert.deepEqual([answer.status, answer.body.error.code, answer.body.error.param], [400, 'invalid_value', param])
  }
  assert.equal(service.upstream.requests.length, 0)
})

/** A model that writes NUL, cuts an emoji in two between pieces, and leaves half of one at the end. */
const PIECES = ['a\u0000', 'b \ud83d', '\ude00 c\ud83d']
const WRITTEN = 'a\ufffdb \u{1f600} c\ufffd'
const texts = (): UpstreamReply => replyOf(PIECES.map((content) => ({ content })))
const reasons = (): UpstreamReply => replyOf(PIECES.map((reasoning_content) => ({ reasoning_content })))
const calls = (): UpstreamReply =>
  replyOf(
    [
      {
        tool_calls: [
          { index: 0, id: 'c\u0000', type: 'function', function: { name: 'r\ud83d', arguments: PIECES[0] } },
        ],
      },
      ...PIECES.slice(1).map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
    ],
    { finish_reason: 'tool_calls' },
  )
const messages = [{ role: 'user', content: 'Hi' }]

test('what the model writes is repaired in chat, plain and streamed', async () => {
  const message = { content: PIECES.join(''), tool_calls: [{ ...call('c\u0000'), index: 0 }] }
  service.upstream.reply({ kind: 'json', body: completion(message) })
  const plain = (await chat({ messages })).body.choices[0].message
  assert.deepEqual([plain.content, plain.tool_calls[0].id], [WRITTEN, 'c\ufffd'])
  const streamed = async (reply: UpstreamReply) => {
    service.upstream.reply(reply)
    const { text } = await chat({ messages, stream: true })
    const deltas = eventsOf(text).flatMap((event) => event.choices?.[0]?.delta ?? [])
    for (const delta of deltas)
      assert.ok(JSON.stringify(delta).isWellFormed() && !/\\u(0000|d[89a-f])/.test(JSON.stringify(delta)))
    return deltas
  }
  const joined = (deltas: Array<Record<string, string>>, name: string) =>
    deltas.map((each) => each[name] ?? '').join('')
  assert.equal(joined(await streamed(texts()), 'content'), WRITTEN)
  assert.equal(joined(await streamed(reasons()), 'reasoning_content'), WRITTEN)
  const called = (await streamed(calls())).flatMap(({ tool_calls = [] }) => tool_calls)
  assert.deepEqual([called[0].id, called[0].function.name], ['c\ufffd', 'r\ufffd'])
  assert.equal(called.map((each) => each.function.arguments).join(''), WRITTEN)
})

test('and in responses: plain, streamed, in the background and on a socket, stored and sent back', async () => {
  const textIn = (response: { output: Array<{ content?: Array<{ text: string }> }> }) =>
    response.output[0]!.content![0]!.text
  service.upstream.reply(texts(), texts(), texts(), texts(), calls())
  const plain = await respond({ input: 'Hi' })
  assert.equal(textIn(plain.body), WRITTEN)
  const streamed = readEvents((await respond({ input: 'Hi', stream: true })).text).at(-1)!
  assert.equal(textIn(streamed.response), WRITTEN)
  const turn = await socket.turn({ model: 'm', input: 'Hi' })
  assert.equal(textIn(turn.response as typeof plain.body), WRITTEN)
  const queued = await respond({ input: 'Hi', background: true })
  assert.equal(textIn((await service.ended(queued.body.id)) as typeof plain.body), WRITTEN)
  const { body } = await respond({ input: 'Hi' })
  assert.equal(body.output[0].arguments, WRITTEN)
  for (const { id } of [plain.body, streamed.response, turn.response, queued.body]) {
    assert.equal(textIn((await service.call('GET', id)).body), WRITTEN)
    assert.equal((await respond({ input: 'And?', previous_response_id: id })).status, 200)
    assert.equal(asked()[1]!.content, WRITTEN)
  }
})

test('200 for a call with a name of any length, as the model wrote it, in every API', async () => {
  const long = 'x'.repeat(5000)
  const written = { ...call('c1'), function: { name: long, arguments: '{}' } }
  const reply = () => ({ kind: 'json', body: completion({ content: null, tool_calls: [written] }) }) as const
  service.upstream.reply(reply())
  const { message } = (await chat({ messages })).body.choices[0]
  const chatted = await chat({ messages: [...messages, message, { role: 'tool', tool_call_id: 'c1', content: 'x' }] })
  assert.equal(chatted.status, 200, chatted.text.slice(0, 300))
  assert.deepEqual(asked()[1], { role: 'assistant', content: null, tool_calls: [written] })
  service.upstream.reply(reply())
  const [called] = (await respond({ input: 'Hi' })).body.output
  assert.equal(called.name, long)
  const input = [called, { type: 'function_call_output', call_id: called.call_id, output: 'x' }]
  const plain = await respond({ input })
  assert.equal(plain.status, 200, plain.text.slice(0, 300))
  const turn = await socket.turn({ model: 'm', input })
  assert.equal(turn.response?.status, 'completed', JSON.stringify(turn.last).slice(0, 300))
  const queued = await respond({ input, background: true })
  assert.equal((await service.ended(queued.body.id)).status, 'completed')
})
