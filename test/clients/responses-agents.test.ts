import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Agent, OpenAIProvider, Runner, type RunStreamEvent, setTracingDisabled, tool } from '@openai/agents'
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
let transports: Array<{ name: string; runner: Runner; provider: OpenAIProvider }>
before(async () => {
  service = await startForClients()
  setTracingDisabled(true)
  transports = [false, true].map((useResponsesWebSocket) => {
    const provider = new OpenAIProvider({
      apiKey: service.person.key,
      baseURL: service.base_url,
      useResponses: true,
      useResponsesWebSocket,
    })
    const name = useResponsesWebSocket ? 'socket' : 'http'
    return { name, provider, runner: new Runner({ modelProvider: provider, tracingDisabled: true }) }
  })
})
after(async () => {
  for (const { provider } of transports) await provider.close()
  await service.close()
})

const each = (title: string, check: (runner: Runner) => Promise<void>) => {
  for (const index of [0, 1]) {
    test(`agents over ${['http', 'socket'][index]}: ${title}`, () => check(transports[index]!.runner))
  }
}

each('an agent answers, and the run counts the tokens', async (runner) => {
  const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model })
  const result = await runner.run(agent, 'Say hello to Paris.')
  assert.match(result.finalOutput!, /Paris/)
  const { inputTokens, outputTokens } = result.runContext.usage
  assert.ok(inputTokens > 0 && outputTokens > 0)
  assert.match(result.lastResponseId!, /^resp_/)
})

each('a tool is called and its result put into words, plain and streamed', async (runner) => {
  const agent = new Agent({ name: 'Forecaster', instructions: 'Use your tool.', model, tools: [weather] })
  const plain = await runner.run(agent, 'Use get_weather for Paris.')
  assert.match(plain.finalOutput!, /21 degrees in Paris/)
  const stream = await runner.run(agent, 'Use get_weather for Paris.', { stream: true })
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
})

each('a hand-off reaches the other agent, which answers with its own tool', async (runner) => {
  const forecaster = new Agent({ name: 'Forecaster', instructions: 'Use your tool.', model, tools: [weather] })
  const desk = new Agent({ name: 'Desk', instructions: 'Hand weather questions on.', model, handoffs: [forecaster] })
  for (const stream of [false, true] as const) {
    const asked = 'I need transfer_to_Forecaster: the weather in Paris.'
    const result = stream ? await runner.run(desk, asked, { stream }) : await runner.run(desk, asked)
    if ('completed' in result) await result.completed
    assert.equal(result.lastAgent!.name, 'Forecaster')
    assert.ok(result.newItems.some(({ type }) => type === 'handoff_output_item'))
  }
})

each('a typed output satisfies its zod schema', async (runner) => {
  const Trip = z.object({ city: z.string(), days: z.number().int().min(1).max(9) })
  const agent = new Agent({ name: 'Planner', instructions: 'Plan.', model, outputType: Trip })
  const { finalOutput } = await runner.run(agent, 'A trip to Paris')
  assert.deepEqual(Trip.parse(finalOutput), finalOutput)
})

each('reasoning is kept through a tool call, encrypted where nothing is stored', async (runner) => {
  for (const store of [true, false]) {
    const modelSettings = {
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
      store,
      providerData: store ? {} : { include: ['reasoning.encrypted_content'] },
    }
    const agent = new Agent({ name: 'Thinker', instructions: 'Think.', model, tools: [weather], modelSettings })
    const result = await runner.run(agent, 'Use get_weather for Paris.')
    assert.ok(result.newItems.some(({ type }) => type === 'reasoning_item'))
    assert.match(result.finalOutput!, /21 degrees in Paris/)
  }
})

each('a run goes on from the response before it, and is refused from one there is not', async (runner) => {
  const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model })
  const first = await runner.run(agent, 'My city is Paris.')
  const second = await runner.run(agent, 'Which city?', { previousResponseId: first.lastResponseId! })
  assert.ok(second.runContext.usage.inputTokens > first.runContext.usage.inputTokens)
  await assert.rejects(runner.run(agent, 'Which city?', { previousResponseId: 'resp_x' }))
})

each('a refused request fails the run, and the next one runs', async (runner) => {
  await assert.rejects(runner.run(new Agent({ name: 'Nobody', instructions: '', model: 'nobody' }), 'Hello'))
  const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model })
  assert.ok((await runner.run(agent, 'Hello')).finalOutput)
})

function deltaOf(event: RunStreamEvent): string {
  return event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta' ? event.data.delta : ''
}
