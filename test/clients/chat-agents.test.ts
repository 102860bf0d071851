import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  Agent,
  type RunStreamEvent,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { type ClientsApp, startForClients } from './chat-clients-app.ts'

const model = 'sandbox-1'
const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `21 degrees in ${city}`,
})

let service: ClientsApp
before(async () => {
  service = await startForClients()
  setTracingDisabled(true)
  setOpenAIAPI('chat_completions')
  setDefaultOpenAIClient(new OpenAI({ apiKey: service.person.key, baseURL: service.base_url, maxRetries: 0 }) as never)
})
after(() => service.close())

test('agents: an agent answers, and the run counts the tokens', async () => {
  const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model })
  const result = await run(agent, 'Say hello to Paris.')
  assert.match(result.finalOutput!, /Paris/)
  const { inputTokens, outputTokens } = result.runContext.usage
  assert.ok(inputTokens > 0 && outputTokens > 0)
})

test('agents: a tool is called and its result put into words, plain and streamed', async () => {
  const agent = new Agent({ name: 'Forecaster', instructions: 'Use your tool.', model, tools: [weather] })
  const plain = await run(agent, 'Use get_weather for Paris.')
  assert.match(plain.finalOutput!, /21 degrees in Paris/)
  const stream = await run(agent, 'Use get_weather for Paris.', { stream: true })
  let text = ''
  const names: string[] = []
  for await (const event of stream) {
    text += deltaOf(event)
    if (event.type === 'run_item_stream_event') names.push(event.name)
  }
  await stream.completed
  assert.equal(stream.finalOutput, plain.finalOutput)
  assert.equal(text, plain.finalOutput)
  assert.deepEqual(names, ['tool_called', 'tool_output', 'message_output_created'])
  assert.ok(stream.runContext.usage.outputTokens > 0)
})

test('agents: a hand-off reaches the other agent, which answers with its own tool', async () => {
  const forecaster = new Agent({ name: 'Forecaster', instructions: 'Use your tool.', model, tools: [weather] })
  const desk = new Agent({ name: 'Desk', instructions: 'Hand weather questions on.', model, handoffs: [forecaster] })
  for (const stream of [false, true] as const) {
    const asked = 'I need transfer_to_Forecaster: the weather in Paris.'
    const result = stream ? await run(desk, asked, { stream }) : await run(desk, asked)
    if ('completed' in result) await result.completed
    assert.equal(result.lastAgent!.name, 'Forecaster')
    assert.ok(result.newItems.some(({ type }) => type === 'handoff_output_item'))
  }
})

test('agents: a typed output satisfies its zod schema', async () => {
  const Trip = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })
  const agent = new Agent({ name: 'Planner', instructions: 'Plan.', model, outputType: Trip })
  const { finalOutput } = await run(agent, 'A trip to Paris')
  assert.deepEqual(Trip.parse(finalOutput), finalOutput)
  assert.equal(finalOutput!.city, 'Paris')
})

test('agents: reasoning is kept through a tool call', async () => {
  const modelSettings = { reasoning: { effort: 'low' as const } }
  const agent = new Agent({ name: 'Thinker', instructions: 'Think.', model, tools: [weather], modelSettings })
  const result = await run(agent, 'Use get_weather for Paris.')
  assert.ok(result.newItems.some(({ type }) => type === 'reasoning_item'))
  assert.match(result.finalOutput!, /21 degrees in Paris/)
})

test('agents: a refused request fails the run with its status and code', async () => {
  const agent = new Agent({ name: 'Nobody', instructions: '', model: 'nobody' })
  await assert.rejects(run(agent, 'Hello'), { status: 404, code: 'model_not_found' })
})

function deltaOf(event: RunStreamEvent): string {
  return event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta' ? event.data.delta : ''
}
