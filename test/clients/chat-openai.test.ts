import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { samplePicture } from '../support/data/media.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

type APIError = InstanceType<typeof OpenAI.APIError>

const model = 'sandbox-1'
const messages = [{ role: 'user' as const, content: 'Say hello to Paris.' }]
const Trip = z.object({
  city: z.string(),
  days: z.number().int().min(1).max(9),
  tags: z.array(z.enum(['art', 'food'])),
})

let service: ClientsApp
let client: OpenAI
before(async () => {
  service = await startForClients()
  client = new OpenAI({ apiKey: service.person.key, baseURL: service.base_url, maxRetries: 0 })
})
after(() => service.close())

test('openai: a plain completion has its text, usage and request id', async () => {
  const completion = await client.chat.completions.create({ model, messages, max_completion_tokens: 100 })
  assert.equal(completion.model, model)
  assert.match(completion._request_id!, /^req_[0-9a-f]{32}$/)
  const { message, finish_reason } = completion.choices[0]!
  assert.match(message.content!, /Paris/)
  assert.deepEqual([finish_reason, message.refusal, message.tool_calls], ['stop', null, undefined])
  const { prompt_tokens, completion_tokens, total_tokens } = completion.usage!
  assert.ok(prompt_tokens > 0 && completion_tokens > 0)
  assert.equal(total_tokens, prompt_tokens + completion_tokens)
})

test('openai: a stream says the same as the plain answer, and its usage in a last chunk without choices', async () => {
  const plain = await client.chat.completions.create({ model, messages, seed: 1 })
  const stream = await client.chat.completions.create({
    model,
    messages,
    seed: 1,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
  assert.equal(text, plain.choices[0]!.message.content)
  assert.equal(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size, 1)
  assert.deepEqual(chunks.at(-1)!.choices, [])
  assert.deepEqual(chunks.at(-1)!.usage, plain.usage)
  assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null))
})

test('openai: the stream helper emits every delta and assembles the completion', async () => {
  const stream = client.chat.completions.stream({ model, messages, n: 2, logprobs: true, top_logprobs: 2 })
  let deltas = ''
  stream.on('content.delta', ({ delta }) => {
    deltas += delta
  })
  const completion = await stream.finalChatCompletion()
  assert.equal(completion.choices.length, 2)
  for (const { message, logprobs, finish_reason } of completion.choices) {
    assert.equal(logprobs!.content!.map(({ token }) => token).join(''), message.content)
    assert.ok(logprobs!.content!.every(({ top_logprobs }) => top_logprobs.length === 2))
    assert.equal(finish_reason, 'stop')
  }
  assert.equal(deltas.length, completion.choices.map(({ message }) => message.content).join('').length)
})

const weather = zodFunction({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string(), unit: z.enum(['c', 'f']) }),
  function: ({ city, unit }) => `21 degrees ${unit} and sunny in ${city}`,
})

test('openai: runTools calls the function and answers with its result, plain and streamed', async () => {
  const question = [{ role: 'user' as const, content: 'Use get_weather for Paris.' }]
  const body = { model, messages: question, tools: [weather] }
  for (const runner of [
    client.chat.completions.runTools(body),
    client.chat.completions.runTools({ ...body, stream: true, stream_options: { include_usage: true } }),
  ]) {
    assert.match((await runner.finalContent())!, /21 degrees [cf] and sunny in Paris/)
    assert.match((await runner.finalFunctionToolCallResult())!, /^21 degrees/)
    const roles = runner.messages.map(({ role }) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant'])
    assert.ok((await runner.totalUsage()).completion_tokens > 0)
  }
})

test('openai: parse gives an object that satisfies the zod schema', async () => {
  const completion = await client.chat.completions.parse({
    model,
    messages,
    response_format: zodResponseFormat(Trip, 'trip'),
  })
  const { parsed } = completion.choices[0]!.message
  assert.deepEqual(Trip.parse(parsed), parsed)
  const streamed = client.chat.completions.stream({ model, messages, response_format: zodResponseFormat(Trip, 'trip') })
  assert.deepEqual((await streamed.finalChatCompletion()).choices[0]!.message.parsed, parsed)
})

test('openai: parse gives the arguments of a strict tool', async () => {
  const completion = await client.chat.completions.parse({ model, messages, tools: [weather], tool_choice: 'required' })
  const { message, finish_reason } = completion.choices[0]!
  assert.deepEqual([finish_reason, message.content], ['tool_calls', null])
  const [call] = message.tool_calls!
  assert.ok(call?.type === 'function')
  assert.equal((call.function.parsed_arguments as { city: string }).city, 'Paris')
})

test('openai: a picture is accepted by file id, and a refusal comes in refusal, without content', async () => {
  const file = await client.files.create({ file: await pictureFile(), purpose: 'vision' })
  const content: OpenAI.ChatCompletionContentPart[] = [
    { type: 'text', text: 'What is this?' },
    { type: 'file', file: { file_id: file.id } },
  ]
  const seen = await client.chat.completions.create({ model, messages: [{ role: 'user', content }] })
  assert.match(seen.choices[0]!.message.content!, /1 image/)
  const refused = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'sandbox:refuse' }],
  })
  assert.equal(refused.choices[0]!.message.content, null)
  assert.ok(refused.choices[0]!.message.refusal!.length > 0)
})

test('openai: models are listed and read, also by an id with a slash', async () => {
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.deepEqual(ids, ['sandbox-1', 'o1-sandbox', 'org/plain-1', 'slow-1'])
  for (const id of ids) assert.deepEqual([(await client.models.retrieve(id)).id, 'model'], [id, 'model'])
  await assert.rejects(client.models.retrieve('nobody'), OpenAI.NotFoundError)
})

test('openai: refusals arrive as its typed errors with code, param and request id', async () => {
  const refusal = async (
    body: object,
    type: abstract new (...args: never) => APIError,
    expected: unknown[],
    by = client,
  ) => {
    const answer = by.chat.completions.create({ model, messages, ...body })
    const error = await answer.then(
      () => assert.fail('it was answered'),
      (error: unknown) => error,
    )
    assert.ok(error instanceof type, String(error))
    assert.deepEqual([error.status, error.code, error.param], expected)
    assert.match(error.requestID!, /^req_/)
    return error
  }
  await refusal({ temperature: 3 }, OpenAI.BadRequestError, [400, 'decimal_above_max_value', 'temperature'])
  await refusal({ model: 'nobody' }, OpenAI.NotFoundError, [404, 'model_not_found', 'model'])
  const picture = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }]
  const mismatch = [400, 'model_capability_mismatch', 'messages[0].content[0].type']
  await refusal({ model: 'org/plain-1', messages: picture }, OpenAI.BadRequestError, mismatch)
  const outsider = client.withOptions({ apiKey: `${service.person.key.slice(0, -1)}!` })
  await refusal({}, OpenAI.AuthenticationError, [401, 'invalid_api_key', null], outsider)
  const long = [{ role: 'user', content: 'sandbox:too_long' }]
  await refusal({ messages: long }, OpenAI.BadRequestError, [400, 'context_length_exceeded', 'messages'])
  const busy = { messages: [{ role: 'user', content: 'sandbox:overloaded' }] }
  const error = await refusal(busy, OpenAI.InternalServerError, [503, 'server_is_overloaded', null])
  assert.equal(error.headers!.get('retry-after'), '1')
  await refusal({ ...busy, stream: true }, OpenAI.InternalServerError, [503, 'server_is_overloaded', null])
})

test('openai: a model that fails in the middle of a stream raises its API error', async () => {
  const broken = [{ role: 'user' as const, content: 'sandbox:error' }]
  const stream = await client.chat.completions.create({ model, messages: broken, stream: true })
  let text = ''
  const reading = async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  }
  await assert.rejects(reading(), (error: APIError) => {
    assert.ok(error instanceof OpenAI.APIError)
    assert.deepEqual([error.code, error.type], ['upstream_error', 'server_error'])
    return true
  })
  assert.ok(text.length > 0)
})

test('openai: an aborted stream is charged for what was produced, and no more', async () => {
  const before = (await service.charges(0)).length
  const long = [{ role: 'user' as const, content: 'sandbox:long' }]
  const stream = await client.chat.completions.create({ model: 'slow-1', messages: long, stream: true })
  for await (const _ of stream) break
  assert.ok(stream.controller.signal.aborted)
  const charge = (await service.charges(before + 1)).at(-1)!
  assert.equal(charge.model, 'slow-1')
  assert.ok(charge.output_tokens! > 0 && charge.output_tokens! < 1000, `${charge.output_tokens} tokens`)
})

async function pictureFile() {
  return toFile(await samplePicture('png', { width: 32, height: 24 }), 'a.png')
}
