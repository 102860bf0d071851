import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AIMessageChunk, HumanMessage, SystemMessage, type ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai'
import { z } from 'zod'
import { samplePicture } from '../support/data/media.ts'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

const prompt = 'Say hello to Paris.'

let service: ClientsApp
let chat: (options?: Partial<ChatOpenAIFields>) => ChatOpenAI
before(async () => {
  for (const name of ['LANGSMITH_TRACING', 'LANGCHAIN_TRACING', 'LANGSMITH_TRACING_V2', 'LANGCHAIN_TRACING_V2'])
    delete process.env[name]
  service = await startForClients()
  const configuration = { baseURL: service.base_url }
  const fixed = { model: 'sandbox-1', apiKey: service.person.key, configuration, maxRetries: 0, useResponsesApi: true }
  chat = (options) => new ChatOpenAI({ ...fixed, ...options } as ChatOpenAIFields)
})
after(() => service.close())

test('langchain: invoke and stream return the same text and the same usage', async () => {
  const messages = [new SystemMessage('Be brief.'), new HumanMessage(prompt)]
  const plain = await chat().invoke(messages)
  assert.match(plain.text, /Paris/)
  assert.match(plain.response_metadata.id as string, /^resp_/)
  const whole = await gather(await chat().stream(messages))
  assert.equal(whole.text, plain.text)
  assert.deepEqual(whole.usage_metadata, plain.usage_metadata)
  assert.ok(plain.usage_metadata!.output_tokens > 0)
})

test('langchain: bound tools are called and their results put into words, plain and streamed', async () => {
  const weather = tool(({ city }: { city: string }) => `21 degrees in ${city}`, {
    name: 'get_weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.string() }),
  })
  const model = chat().bindTools([weather])
  const question = new HumanMessage('Use get_weather for Paris.')
  const plain = await model.invoke([question])
  const streamed = await gather(await model.stream([question]))
  for (const said of [plain, streamed]) {
    const [call] = said.tool_calls!
    assert.deepEqual([call?.name, call?.args], ['get_weather', { city: 'Paris' }])
    const result: ToolMessage = await weather.invoke({ ...call!, type: 'tool_call' })
    const answer = await model.invoke([question, said, result])
    assert.match(answer.text, /21 degrees in Paris/)
  }
})

test('langchain: reasoning comes with its summary, plain and streamed, and is given back', async () => {
  const model = chat({ model: 'o1-sandbox', reasoning: { effort: 'low', summary: 'auto' } })
  const plain = await model.invoke(prompt)
  const streamed = await gather(await model.stream(prompt))
  for (const said of [plain, streamed]) {
    const { reasoning } = said.additional_kwargs as { reasoning: { summary: Array<{ text: string }> } }
    assert.ok(reasoning.summary.map(({ text }) => text).join('').length > 0)
    const next = await model.invoke([new HumanMessage(prompt), said, new HumanMessage('And again.')])
    assert.ok(next.text.length > 0)
  }
})

test('langchain: without storage, reasoning is encrypted and given back', async () => {
  const model = chat({ model: 'o1-sandbox', reasoning: { effort: 'low', summary: 'auto' }, zdrEnabled: true })
  const said = await model.invoke(prompt, { include: ['reasoning.encrypted_content'] })
  const { reasoning } = said.additional_kwargs as { reasoning: { encrypted_content?: string } }
  assert.ok(reasoning.encrypted_content)
  const next = await model.invoke([new HumanMessage(prompt), said, new HumanMessage('And again.')])
  assert.ok(next.text.length > 0)
})

test('langchain: a chain goes on by previous_response_id', async () => {
  const first = await chat().invoke('My city is Paris.')
  const previous_response_id = first.response_metadata.id as string
  const second = await chat().invoke('Which city?', { previous_response_id })
  assert.ok(second.usage_metadata!.input_tokens > first.usage_metadata!.input_tokens)
})

test('langchain: withStructuredOutput gives an object of the schema', async () => {
  const Trip = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })
  for (const method of ['jsonSchema', 'functionCalling'] as const) {
    const trip = await chat().withStructuredOutput(Trip, { method, name: 'trip' }).invoke('A trip to Paris')
    assert.deepEqual(Trip.parse(trip), trip, method)
  }
})

test('langchain: pictures are accepted, and a refusal keeps its status and code', async () => {
  const url = `data:image/png;base64,${Buffer.from(await samplePicture('png')).toString('base64')}`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  assert.ok((await chat().invoke([new HumanMessage({ content })])).text.length > 0)
  await assert.rejects(chat({ model: 'nobody' }).invoke(prompt), { status: 404, code: 'model_not_found' })
})

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined
  for await (const chunk of stream) whole = whole ? whole.concat(chunk) : chunk
  return whole!
}
