import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { acceptStream, type Wire } from '../../support/data/response-grammar.ts'
import type { TestPerson } from '../../support/http/app.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { canariesIn, customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import {
  callDeltas,
  createResponse,
  functionTool,
  readEvents,
  readFrames,
  readStored,
  replyOf,
  streamResponse,
} from '../../support/http/response-requests.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const stream = (deltas: readonly object[], changes: Record<string, unknown> = {}, finish_reason = 'stop') =>
  streamResponse(service, person, { reply: replyOf(deltas, { finish_reason }), ...changes })
const HEAD = ['created', 'in_progress']

test('200: the headers of a stream are those of the contract', async () => {
  const { headers, text } = await stream([{ content: 'Hi' }], { tools: [{ type: 'mcp' }, { type: 'web_search' }] })
  assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(headers.get('cache-control'), 'no-cache')
  assert.equal(headers.get('x-dropped-tools'), 'mcp, web_search')
  assert.match(headers.get('x-request-id')!, /^req_[0-9a-f]{32}$/)
  assert.deepEqual(canariesIn(text, service.upstream), [])
})

test('200: text is streamed delta by delta', async () => {
  const { types, events, built } = await stream([
    { role: 'assistant', content: '' },
    { content: 'Hel' },
    { content: 'lo' },
  ])
  assert.deepEqual(types, [
    ...HEAD,
    ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta', 'output_text.done'],
    ...['content_part.done', 'output_item.done', 'completed'],
  ])
  assert.deepEqual(
    events.filter(({ delta }) => delta !== undefined).map(({ delta, logprobs }) => [delta, logprobs]),
    [
      ['Hel', []],
      ['lo', []],
    ],
  )
  assert.equal(built.output[0].content[0].text, 'Hello')
})

test('200: calls are streamed one after another, however the model server interleaves them', async () => {
  const [a, b] = [
    callDeltas(0, { id: 'c1', name: 'look', pieces: ['{"at"', ':1}'] }),
    callDeltas(1, { id: 'c2', name: 'look', pieces: ['{"at"', ':2}'] }),
  ]
  const mixed = [{ content: 'Let me see.' }, a[0]!, b[0]!, a[1]!, b[1]!, b[2]!, a[2]!, { content: 'Done.' }]
  const { types, built } = await stream(mixed, { tools: [functionTool('look')] }, 'tool_calls')
  const call = [
    ...['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.delta'],
    ...['function_call_arguments.done', 'output_item.done'],
  ]
  const message = [
    ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done'],
    'output_item.done',
  ]
  assert.deepEqual(types, [...HEAD, ...message, ...call, ...call, ...message, 'completed'])
  assert.deepEqual(
    built.output.map((item: Wire) => item.arguments ?? item.content[0].text),
    ['Let me see.', '{"at":1}', '{"at":2}', 'Done.'],
  )
})

test('200: calls without an id, with a duplicate id or an endless one get a new id', async () => {
  const calls = ['', 'same', 'same', 'x'.repeat(16_385)].flatMap((id, i) =>
    callDeltas(i, { id, name: 'look', pieces: [`{"at":${i}}`] }),
  )
  const { built } = await stream(calls, { tools: [functionTool('look')] }, 'tool_calls')
  const ids: string[] = built.output.map(({ call_id }: Wire) => call_id)
  assert.equal(new Set(ids).size, 4)
  assert.equal(ids[1], 'same')
  for (const i of [0, 2, 3]) assert.match(ids[i]!, /^call_[0-9a-f]{24}$/)
})

test('200: the input of a custom tool is streamed as plain text', async () => {
  const pieces = ['{"in', 'put": "a\\', 'n\\u00', 'e9\\ud83d', '\\ude00"', '}']
  const calls = callDeltas(0, { id: 'c1', name: 'patch', pieces })
  const { types, events, built } = await stream(calls, { tools: [{ type: 'custom', name: 'patch' }] }, 'tool_calls')
  assert.equal(types.at(2), 'output_item.added')
  assert.deepEqual(types.slice(-3), ['custom_tool_call_input.done', 'output_item.done', 'completed'])
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta').map(({ delta }) => delta)
  assert.deepEqual(deltas, ['a', '\n', 'é', '😀'])
  assert.equal(built.output[0].input, 'a\né😀')
})

test('200: reasoning is streamed as a summary when requested, otherwise only as an item', async () => {
  const deltas = [{ reasoning_content: 'Let me ' }, { reasoning: 'see.' }, { content: 'Yes.' }]
  const silent = await stream(deltas)
  assert.deepEqual(silent.types.slice(2, 5), ['output_item.added', 'output_item.done', 'output_item.added'])
  const summarized = await stream(deltas, { reasoning: { summary: 'detailed' } })
  assert.deepEqual(summarized.types.slice(2, 9), [
    ...['output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta'],
    ...['reasoning_summary_text.delta', 'reasoning_summary_text.done', 'reasoning_summary_part.done'],
    'output_item.done',
  ])
  assert.deepEqual(summarized.built.output[0].summary, [{ type: 'summary_text', text: 'Let me see.' }])
})

test('200: raw reasoning is streamed where the operator allows it', async () => {
  const app: ChatApp = await startChatApp([{ id: 'far-1', expose_raw_reasoning: true }])
  app.upstream.reply(replyOf([{ reasoning_content: 'Hm.' }, { content: 'Yes.' }]))
  const { text } = await createResponse(app.app, app.person, { stream: true, reasoning: { summary: 'auto' } })
  await app.close()
  const [item] = acceptStream(readEvents(text)).output
  assert.deepEqual(item.content, [{ type: 'reasoning_text', text: 'Hm.' }])
  assert.deepEqual(item.summary, [{ type: 'summary_text', text: 'Hm.' }])
})

test('200: a refusal and a text are parts of one message', async () => {
  const { types, built } = await stream([{ content: 'Well, ' }, { refusal: 'no.' }])
  assert.deepEqual(types.slice(3, 9), [
    ...['content_part.added', 'output_text.delta', 'output_text.done', 'content_part.done'],
    ...['content_part.added', 'refusal.delta'],
  ])
  assert.deepEqual(
    built.output[0].content.map(({ type }: Wire) => type),
    ['output_text', 'refusal'],
  )
})

test('200: an item that was cut off is incomplete, and the stream has the reason', async () => {
  const cut = await stream([{ content: 'Once' }], {}, 'length')
  assert.equal(cut.types.at(-1), 'incomplete')
  assert.deepEqual(cut.built.incomplete_details, { reason: 'max_output_tokens' })
  assert.equal(cut.built.output[0].status, 'incomplete')
  const nothing = await stream([{ content: null }])
  assert.equal(nothing.built.output[0].content[0].text, '')
})

test('200: the plain answer equals what the events build', async () => {
  const deltas = [
    ...[{ reasoning_content: 'Hm' }, { content: 'Look: ' }],
    ...callDeltas(0, { id: 'c1', name: 'look', pieces: ['{"a":', '"é"}'] }),
  ]
  const changes = { model: 'plain-1', tools: [functionTool('look')], reasoning: { summary: 'auto' } }
  const { built } = await stream(deltas, changes, 'tool_calls')
  service.upstream.reply(replyOf(deltas, { finish_reason: 'tool_calls', piece_bytes: 90 }))
  const { body } = await createResponse(service.app, person, changes)
  const nameless = (response: Wire) => ({
    ...response,
    id: 0,
    output: response.output.map((item: Wire) => ({ ...item, id: 0 })),
  })
  assert.deepEqual(nameless(body), nameless(built))
})

test('200: the response can be read as soon as its last event is sent', async () => {
  service.upstream.reply(replyOf([{ content: 'Hi' }]))
  const response = await fetch(`${service.app.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'far-1', input: 'Hello', stream: true }),
  })
  let text = ''
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes
    if (!text.includes('event: response.completed\n') || text.includes('[DONE]')) continue
    const { response: completed } = readFrames(text).at(-1)!
    assert.deepEqual((await readStored(service.app, person, completed.id)).body, completed)
  }
  const last = readEvents(text).at(-1)!.response
  assert.deepEqual((await readStored(service.app, person, last.id)).body, last)
})

test('200: every write contains complete frames', async () => {
  const { url } = service.app
  service.upstream.reply(
    replyOf(
      Array.from({ length: 30 }, (_, i) => ({ content: `word ${i} ` })),
      { piece_bytes: 300 },
    ),
  )
  const connection = await rawConnection(url)
  let text = ''
  connection.socket.on('data', (bytes) => {
    text += bytes
  })
  const body = JSON.stringify({ model: 'far-1', input: 'Hello', stream: true })
  const head = `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${person.key}\r\ncontent-type: application/json\r\nconnection: close\r\n`
  const ended = new Promise<void>((resolve) => connection.socket.on('end', resolve).on('close', resolve))
  await connection.write(`${head}content-length: ${body.length}\r\n\r\n${body}`)
  await ended
  const chunks = text.slice(text.indexOf('\r\n\r\n') + 4).split(/(?:^|\r\n)[0-9a-f]+\r\n/)
  const written = chunks.map((each) => each.replace(/\r\n$/, '')).filter((each) => each !== '')
  assert.ok(written.length > 2, 'several writes')
  for (const each of written) assert.ok(each.endsWith('\n\n'), each.slice(-60))
  acceptStream(readEvents(written.join('')))
})
