import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { z } from 'zod'
import { samplePicture } from '../support/data/media.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

const model = 'sandbox-1'
const input = 'Say hello to Paris.'
const Trip = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })

let service: ClientsApp
let client: OpenAI
before(async () => {
  service = await startForClients({ background: true })
  client = new OpenAI({ apiKey: service.person.key, baseURL: service.base_url, maxRetries: 0 })
})
after(() => service.close())

test('openai: a plain response has its text, usage and request id', async () => {
  const response = await client.responses.create({ model, input, instructions: 'Be brief.', metadata: { a: 'b' } })
  assert.match(response._request_id!, /^req_[0-9a-f]{32}$/)
  assert.match(response.output_text, /Paris/)
  assert.deepEqual([response.status, response.error, response.metadata], ['completed', null, { a: 'b' }])
  const { input_tokens, output_tokens, total_tokens } = response.usage!
  assert.ok(input_tokens > 0 && output_tokens > 0)
  assert.equal(total_tokens, input_tokens + output_tokens)
})

test('openai: the stream helper accepts every event and puts the response together', async () => {
  const stream = client.responses.stream({ model, input, reasoning: { effort: 'low', summary: 'auto' } })
  let text = ''
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta
  })
  const types = new Set<string>()
  for await (const { type } of stream) types.add(type)
  const response = await stream.finalResponse()
  assert.equal(response.output_text, text)
  assert.ok(types.has('response.reasoning_summary_text.delta'))
  assert.deepEqual(
    response.output.map(({ type }) => type),
    ['reasoning', 'message'],
  )
})

test('openai: parse gives an object of the zod schema, and so does a stream', async () => {
  const body = { model, input: 'A trip to Paris', text: { format: zodTextFormat(Trip, 'trip') } }
  const { output_parsed } = await client.responses.parse(body)
  assert.deepEqual(Trip.parse(output_parsed), output_parsed)
  const streamed = await client.responses.stream(body).finalResponse()
  assert.deepEqual(streamed.output_parsed, output_parsed)
})

test('openai: a function is called with parsed arguments, and its output answered by previous_response_id', async () => {
  const weather = zodResponsesFunction({ name: 'get_weather', parameters: z.object({ city: z.string() }) })
  const asked = await client.responses.parse({ model, input: 'Use get_weather for Paris.', tools: [weather] })
  const call = asked.output.find((item) => item.type === 'function_call')!
  assert.deepEqual([call.name, call.parsed_arguments], ['get_weather', { city: 'Paris' }])
  const answer = await client.responses.create({
    model,
    previous_response_id: asked.id,
    tools: [weather],
    input: [{ type: 'function_call_output', call_id: call.call_id, output: '21 degrees in Paris' }],
  })
  assert.match(answer.output_text, /21 degrees in Paris/)
})

test('openai: pictures, items given back as input, and encrypted reasoning without storage', async () => {
  const image_url = `data:image/png;base64,${Buffer.from(await samplePicture('png')).toString('base64')}`
  const content = [
    { type: 'input_text' as const, text: 'What is this?' },
    { type: 'input_image' as const, image_url, detail: 'auto' as const },
  ]
  const first = await client.responses.create({
    model,
    store: false,
    input: [{ role: 'user', content }],
    reasoning: { effort: 'low' },
    include: ['reasoning.encrypted_content'],
  })
  const [reasoning] = first.output
  assert.ok(reasoning?.type === 'reasoning' && reasoning.encrypted_content)
  const given = first.output as OpenAI.Responses.ResponseInput
  const history: OpenAI.Responses.ResponseInput = [{ role: 'user', content }, ...given]
  const second = await client.responses.create({
    model,
    store: false,
    input: [...history, { role: 'user', content: 'And now?' }],
  })
  assert.equal(second.status, 'completed')
})

test('openai: stored responses are read, their input listed over pages, and deleted', async () => {
  const { id, output_text } = await client.responses.create({
    model,
    input: ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content })),
  })
  const read = await client.responses.retrieve(id)
  assert.deepEqual([read.id, read.output_text, read.status], [id, output_text, 'completed'])
  const types: string[] = []
  for await (const { type } of await client.responses.retrieve(id, { stream: true })) types.push(type)
  assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.completed'])
  const texts: unknown[] = []
  for await (const item of client.responses.inputItems.list(id, { limit: 2, order: 'asc' })) {
    assert.ok(item.type === 'message' && item.id)
    const [part] = item.content
    texts.push(part?.type === 'input_text' && part.text)
  }
  assert.deepEqual(texts, ['one', 'two', 'three'])
  await client.responses.delete(id)
  await assert.rejects(client.responses.retrieve(id), { status: 404, code: 'not_found' })
})

test('openai: input tokens are counted, and a context is compacted and continued', async () => {
  const { input_tokens, object } = await client.responses.inputTokens.count({ model, input })
  assert.ok(input_tokens > 0)
  assert.equal(object, 'response.input_tokens')
  const compacted = await client.responses.compact({ model, input: [{ role: 'user', content: 'I like tea.' }] })
  assert.equal(compacted.output.at(-1)!.type, 'compaction')
  const next = await client.responses.create({
    model,
    input: [...(compacted.output as OpenAI.Responses.ResponseInput), { role: 'user', content: 'Go on.' }],
  })
  assert.equal(next.status, 'completed')
})

test('openai: a background response is polled to its end, and another is canceled', async () => {
  const queued = await client.responses.create({ model, input, background: true })
  assert.deepEqual([queued.status, queued.output], ['queued', []])
  let polled = queued
  while (polled.status === 'queued' || polled.status === 'in_progress') {
    polled = await client.responses.retrieve(queued.id)
  }
  assert.equal(polled.status, 'completed')
  assert.match(polled.output_text, /Paris/)
  const long = 'sandbox:echo ' + 'word '.repeat(2000)
  const { id } = await client.responses.create({ model: 'slow-1', input: long, background: true })
  const canceled = await client.responses.cancel(id)
  assert.equal(canceled.status, 'cancelled')
  assert.equal((await client.responses.cancel(id)).status, 'cancelled')
})

test('openai: the stream of a background response is left and resumed after the last event that was read', async () => {
  const stream = await client.responses.create({ model, input, background: true, stream: true })
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of stream) {
    events.push(event)
    if (event.type === 'response.output_text.delta') break
  }
  const created = events[0]!
  assert.ok(created.type === 'response.created')
  const { id } = created.response
  const resumed = client.responses.stream({ response_id: id, starting_after: events.at(-1)!.sequence_number })
  const numbers: number[] = []
  for await (const event of resumed) numbers.push(event.sequence_number)
  const first = events.at(-1)!.sequence_number + 1
  assert.deepEqual(
    numbers,
    numbers.map((_, i) => first + i),
  )
  assert.equal((await client.responses.retrieve(id)).status, 'completed')
})

test('openai: errors carry their class, code and param', async () => {
  const wrong = (body: object) => client.responses.create({ model, input, ...body } as never)
  await assert.rejects(wrong({ model: 'nobody' }), { status: 404, code: 'model_not_found' })
  await assert.rejects(wrong({ temperature: 9 }), { status: 400, param: 'temperature' })
  await assert.rejects(wrong({ previous_response_id: 'resp_x' }), { status: 404, code: 'previous_response_not_found' })
  await assert.rejects(client.withOptions({ apiKey: 'kin_x' }).responses.create({ model, input }), { status: 401 })
})

test('openai: its socket client runs turns, continues what is not stored, and reports errors', async () => {
  const socket = new ResponsesWS(client)
  const session = new ResponsesWebSocketSession(socket, {
    maxLanes: 4,
    maxBufferedEvents: 1000,
    maxBufferedBytes: 1_000_000,
  })
  socket.on('error', () => {})
  await new Promise<void>((resolve) => socket.socket.on('open', resolve))
  const lane = session.lane()
  lane.create({ model, input, store: false })
  const first = await lane.finalResponse()
  assert.match(first.output_text, /Paris/)
  lane.create({ model, input: 'And again.', store: false, previous_response_id: first.id })
  const second = await lane.finalResponse()
  assert.equal(second.previous_response_id, first.id)
  lane.create({ model, input, previous_response_id: 'resp_x' })
  await assert.rejects(lane.finalResponse(), /request failed/)
  const lanes = [session.lane('a'), session.lane('b')]
  for (const each of lanes) each.create({ model, input: `sandbox:echo ${each.streamID}`, store: false })
  const texts = await Promise.all(lanes.map(async (each) => (await each.finalResponse()).output_text))
  assert.deepEqual(
    texts.map((text) => text.trim()),
    ['a', 'b'],
  )
  session.close()
  socket.close()
})
