import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Type, { type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { acceptStream, RESPONSE_MEMBERS, type Wire } from '../support/data/response-grammar.ts'
import { createResponse, readEvents } from '../support/http/response-requests.ts'
import { send } from '../support/http/send.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

/** The HTTP cases of the Open Responses acceptance suite, in our own words. Source: contract 10.7, 11.4 and 17. */
let service: ClientsApp
before(async () => {
  service = await startForClients()
})
after(() => service.close())

const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const exact = <T extends Record<string, TSchema>>(members: T) => Type.Object(members, { additionalProperties: false })
const Status = Type.Enum(['in_progress', 'completed', 'incomplete'])
const Text = exact({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
  logprobs: Type.Array(Type.Unknown()),
})
const Message = Type.Object({
  id: Type.String({ pattern: '^msg_' }),
  type: Type.Literal('message'),
  status: Status,
  role: Type.Literal('assistant'),
  content: Type.Array(Text, { minItems: 1 }),
  phase: Type.Optional(Type.Enum(['commentary', 'final_answer'])),
})
const Call = exact({
  id: Type.String({ pattern: '^fc_' }),
  type: Type.Literal('function_call'),
  status: Status,
  call_id: Type.String({ minLength: 1, maxLength: 64 }),
  name: Type.String(),
  arguments: Type.String(),
})
const Usage = exact({
  input_tokens: Type.Integer({ minimum: 1 }),
  input_tokens_details: exact({ cached_tokens: Type.Integer(), cache_write_tokens: Type.Integer() }),
  output_tokens: Type.Integer({ minimum: 1 }),
  output_tokens_details: exact({ reasoning_tokens: Type.Integer() }),
  total_tokens: Type.Integer(),
})
const Tool = exact({
  type: Type.Literal('function'),
  name: Type.String(),
  description: orNull(Type.String()),
  parameters: orNull(Type.Object({})),
  strict: orNull(Type.Boolean()),
})
const Response = Type.Object({
  id: Type.String({ pattern: '^resp_' }),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: orNull(Type.Integer()),
  status: Type.String(),
  error: Type.Null(),
  model: Type.String(),
  incomplete_details: orNull(exact({ reason: Type.String() })),
  previous_response_id: orNull(Type.String()),
  instructions: orNull(Type.String()),
  output: Type.Array(Type.Union([Message, Call]), { minItems: 1 }),
  tools: Type.Array(Tool),
  tool_choice: Type.Unknown(),
  truncation: Type.Enum(['auto', 'disabled']),
  parallel_tool_calls: Type.Boolean(),
  text: exact({ format: exact({ type: Type.Literal('text') }) }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  temperature: Type.Number(),
  usage: Usage,
  reasoning: exact({ effort: orNull(Type.String()), summary: orNull(Type.String()) }),
  max_output_tokens: orNull(Type.Integer()),
  max_tool_calls: orNull(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  metadata: Type.Object({}),
  safety_identifier: orNull(Type.String()),
  prompt_cache_key: orNull(Type.String()),
})
const shapeOfResponse = Compile(Response)

const model = 'sandbox-1'
const message = (role: string, content: unknown, more: object = {}) => ({ type: 'message', role, content, ...more })

/** A response of the shape of the contract. */
function assertResponse(response: Wire): Wire {
  const [problem] = shapeOfResponse.Errors(response)
  assert.equal(problem, undefined)
  assert.deepEqual(Object.keys(response).sort(), RESPONSE_MEMBERS)
  assert.equal(response.status, 'completed')
  return response
}

async function answered(input: object[], more: object = {}): Promise<Wire> {
  const { status, body, text } = await createResponse(service.app, service.person, { model, input, ...more })
  assert.equal(status, 200, text)
  return assertResponse(body)
}

const types = ({ output }: Wire) => output.map(({ type }: Wire) => type)
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}
const HEART =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

test('basic-response: a message is answered by one', async () => {
  assert.deepEqual(types(await answered([message('user', 'Say hello in exactly 3 words.')])), ['message'])
})

test('assistant-phase: earlier answers may say which part of the work they were', async () => {
  const { output } = await answered([
    message('assistant', 'I should answer with the saved number.', { phase: 'commentary' }),
    message('assistant', 'The number is four.', { phase: 'final_answer' }),
    message('user', 'Repeat only the number.'),
  ])
  assert.ok(output.every((item: Wire) => item.phase !== null))
})

test('streaming-response: every event is one that clients accept, and the last holds the response', async () => {
  const input = [message('user', 'Count from 1 to 5.')]
  const { text } = await createResponse(service.app, service.person, { model, input, stream: true })
  assertResponse(acceptStream(readEvents(text)))
})

test('system-prompt: a system message is accepted', async () => {
  await answered([
    message('system', 'You are a pirate. Always createResponse in pirate speak.'),
    message('user', 'Say hello.'),
  ])
})

test('tool-calling: a function that fits is called, with arguments that fit it', async () => {
  const response = await answered([message('user', 'What is the weather like in San Francisco?')], { tools: [WEATHER] })
  assert.deepEqual(types(response), ['function_call'])
  assert.deepEqual(Object.keys(JSON.parse(response.output[0].arguments)), ['location'])
  assert.equal(response.tools[0].strict, null)
})

test('image-input: a picture is accepted', async () => {
  const content = [
    { type: 'input_text', text: 'What do you see?' },
    { type: 'input_image', image_url: HEART },
  ]
  assert.deepEqual(types(await answered([message('user', content)])), ['message'])
})

test('multi-turn: a whole conversation is accepted', async () => {
  const input = [
    message('user', 'My name is Alice.'),
    message('assistant', 'Hello Alice!'),
    message('user', 'What is my name?'),
  ]
  assert.deepEqual(types(await answered(input)), ['message'])
})

test('compact-response: a conversation becomes its user messages and a summary, which begin the next one', async () => {
  const input = [message('user', 'We agreed to launch on Tuesday.'), message('assistant', 'Understood.')]
  const { status, body } = await send(service.app, 'POST', '/v1/responses/compact', service.person, {
    model,
    input,
    prompt_cache_key: 'compacting',
  })
  assert.equal(status, 200)
  assert.equal(body.object, 'response.compaction')
  assert.deepEqual(types(body), ['message', 'compaction'])
  assert.equal(typeof body.output[1].encrypted_content, 'string')
  assert.equal(body.usage.total_tokens, body.usage.input_tokens + body.usage.output_tokens)
  await answered([...body.output, message('user', 'When do we launch?')])
})

test('compact-missing-model: a compaction needs a model', async () => {
  const input = [message('user', 'Compact this conversation.')]
  const { status, body } = await send(service.app, 'POST', '/v1/responses/compact', service.person, { input })
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'missing_required_parameter', 'model'])
})
