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
let chat: (options?: ChatOpenAIFields) => ChatOpenAI
before(async () => {
  for (const name of ['LANGSMITH_TRACING', 'LANGCHAIN_TRACING', 'LANGSMITH_TRACING_V2', 'LANGCHAIN_TRACING_V2'])
    delete process.env[name]
  service = await startForClients()
  const configuration = { baseURL: service.base_url }
  chat = (options) =>
    new ChatOpenAI({ model: 'sandbox-1', apiKey: service.person.key, configuration, maxRetries: 0, ...options })
})
after(() => service.close())

test('langchain: invoke and stream return the same text and the same usage', async () => {
  const plain = await chat().invoke([new SystemMessage('Be brief.'), new HumanMessage(prompt)])
  assert.match(plain.text, /Paris/)
  assert.equal(plain.response_metadata.finish_reason, 'stop')
  const whole = await gather(await chat().stream([new SystemMessage('Be brief.'), new HumanMessage(prompt)]))
  assert.equal(whole.text, plain.text)
  assert.deepEqual(whole.usage_metadata, plain.usage_metadata)
  assert.ok(plain.usage_metadata!.output_tokens > 0)
})

test('langchain: stop sequences and limits are honored', async () => {
  const stopped = await chat().invoke(prompt, { stop: ['.'] })
  assert.ok(!stopped.text.includes('.'))
  const cut = await chat({ maxTokens: 3 }).invoke(prompt)
  assert.deepEqual([cut.response_metadata.finish_reason, cut.usage_metadata!.output_tokens], ['length', 3])
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

test('langchain: withStructuredOutput gives an object of the schema, by JSON schema and by a tool', async () => {
  const Trip = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })
  for (const method of ['jsonSchema', 'functionCalling'] as const) {
    const trip = await chat().withStructuredOutput(Trip, { method, name: 'trip' }).invoke(prompt)
    assert.deepEqual(Trip.parse(trip), trip, method)
    assert.equal(trip.city, 'Paris')
  }
})

test('langchain: reasoning comes in reasoning_content, and its tokens in the usage', async () => {
  // It sends `reasoning` only to models named as OpenAI's are.
  const asking: ChatOpenAIFields[] = [
    { modelKwargs: { reasoning_effort: 'low' } },
    { model: 'o1-sandbox', reasoning: { effort: 'low' }, maxTokens: 500 },
  ]
  for (const options of asking) {
    const plain = await chat(options).invoke([new SystemMessage('Be brief.'), new HumanMessage(prompt)])
    const thoughts = plain.additional_kwargs.reasoning_content
    assert.ok(typeof thoughts === 'string' && thoughts.length > 0)
    assert.ok(plain.usage_metadata!.output_token_details!.reasoning! > 0)
    const streamed = await gather(
      await chat(options).stream([new SystemMessage('Be brief.'), new HumanMessage(prompt)]),
    )
    assert.equal(streamed.additional_kwargs.reasoning_content, thoughts)
    assert.equal(streamed.text, plain.text)
  }
})

test('langchain: pictures are accepted inline', async () => {
  const picture = await samplePicture('png', { width: 32, height: 24 })
  const url = `data:image/png;base64,${Buffer.from(picture).toString('base64')}`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  assert.match((await chat().invoke([new HumanMessage({ content })])).text, /32×24/)
})

test('langchain: refusals keep their status and code', async () => {
  const refused = (model: string, text: string) => assert.rejects.bind(null, chat({ model }).invoke(text))
  await refused('nobody', prompt)({ status: 404, code: 'model_not_found' })
  await refused('sandbox-1', 'sandbox:overloaded')({ status: 503, code: 'server_is_overloaded' })
  const broken = async () => gather(await chat().stream('sandbox:error'))
  await assert.rejects(broken(), { code: 'upstream_error' })
})

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined
  for await (const chunk of stream) whole = whole?.concat(chunk) ?? chunk
  return whole!
}
