import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { HumanMessage, SystemMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import { tool as aiTool, generateText, isStepCount, type LanguageModel, streamText } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import type { Sent } from '../support/upstream/strict-upstream.ts'
import { PRINTED, type StrictApp, startStrictApp } from './strict-app.ts'

/**
 * Official clients with several instructions, and a tool whose output is not text, in front of a chat server that accepts one leading system
 * message and no unknown member.
 */
let service: StrictApp
let client: OpenAI
before(async () => {
  setTracingDisabled(true)
  for (const name of ['LANGSMITH_TRACING', 'LANGCHAIN_TRACING', 'LANGSMITH_TRACING_V2', 'LANGCHAIN_TRACING_V2'])
    delete process.env[name]
  service = await startStrictApp()
  client = new OpenAI({ apiKey: service.person.key, baseURL: service.base_url, maxRetries: 0 })
})
after(() => service.close())
beforeEach(() => void service.upstream.requests.splice(0))

const model = 'm'
const QUESTION = 'What is a.out?'
const FILE = z.object({ path: z.string().optional() })
const PARAMETERS = { type: 'object' as const, properties: { path: { type: 'string' } } }
const about = { name: 'read_file', description: 'The content of a file.' }

/** Every client asks once, runs the tool as often as it is called, and gives the last text. */
const CLIENTS: Record<string, (stream: boolean) => Promise<string>> = {
  'openai, chat': openaiChat,
  'openai, responses': openaiResponses,
  'agents, chat': (stream) => agents(stream, { useResponses: false }),
  'agents, responses': (stream) => agents(stream, { useResponses: true }),
  'agents, responses over WebSocket': (stream) => agents(stream, { useResponses: true, useResponsesWebSocket: true }),
  'ai-sdk, chat': (stream) => aiSdk(stream, (openai) => openai.chat(model)),
  'ai-sdk, responses': (stream) => aiSdk(stream, (openai) => openai.responses(model)),
  'langchain, chat': (stream) => langchain(stream, false),
  'langchain, responses': (stream) => langchain(stream, true),
}

for (const [name, ask] of Object.entries(CLIENTS)) {
  for (const stream of [false, true]) {
    test(`${name}, ${stream ? 'streamed' : 'plain'}: a strict chat server accepts every request`, async () => {
      assert.equal(await ask(stream), 'It is a program.')
      const { requests, refused } = service.upstream
      assert.deepEqual(refused, [])
      assert.equal(requests.length, 3)
      const outputs = requests.at(-1)!.messages.filter(({ role }: Sent) => role === 'tool')
      assert.equal(outputs.length, 2)
      for (const { content } of outputs) assert.match(JSON.stringify(content), /ELF\ufffd/)
    })
  }
}

async function openaiChat(stream: boolean): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: 'Use your tool.' },
    { role: 'user', content: QUESTION },
  ]
  const tools = [{ type: 'function' as const, function: { ...about, parameters: PARAMETERS } }]
  for (;;) {
    const asked = { model, messages, tools, frequency_penalty: 0, n: 1 }
    const { choices } = stream
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked)
    const { message } = choices[0]!
    if (!message.tool_calls) return message.content!
    messages.push(message)
    for (const { id } of message.tool_calls) messages.push({ role: 'tool', tool_call_id: id, content: PRINTED })
  }
}

async function openaiResponses(stream: boolean): Promise<string> {
  const tools = [{ ...about, type: 'function' as const, parameters: PARAMETERS, strict: false }]
  const fixed = { model, tools, instructions: 'Be brief.' }
  let input: OpenAI.Responses.ResponseInput = [
    { role: 'developer', content: 'Use your tool.' },
    { role: 'user', content: QUESTION },
  ]
  let previous_response_id: string | undefined
  for (;;) {
    const asked = { ...fixed, input, previous_response_id }
    const response = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked)
    const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    if (calls.length === 0) return response.output_text
    input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: PRINTED }))
    previous_response_id = response.id
  }
}

async function agents(stream: boolean, transport: object): Promise<string> {
  const modelProvider = new OpenAIProvider({ apiKey: service.person.key, baseURL: service.base_url, ...transport })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const parameters = { ...PARAMETERS, required: [], additionalProperties: true as const }
  const tools = [agentTool({ ...about, parameters, strict: false, execute: () => PRINTED })]
  const agent = new Agent({ name: 'Reader', instructions: 'Be brief.', model, tools })
  const input = [
    { role: 'system' as const, content: 'Use your tool.' },
    { role: 'user' as const, content: QUESTION },
  ]
  try {
    if (!stream) return (await runner.run(agent, input)).finalOutput!
    const result = await runner.run(agent, input, { stream })
    await result.completed
    return result.finalOutput!
  } finally {
    await modelProvider.close()
  }
}

async function aiSdk(
  stream: boolean,
  modelOf: (openai: ReturnType<typeof createOpenAI>) => LanguageModel,
): Promise<string> {
  const openai = createOpenAI({ apiKey: service.person.key, baseURL: service.base_url })
  const read_file = aiTool({ description: about.description, inputSchema: FILE, execute: async () => PRINTED })
  const options = {
    model: modelOf(openai),
    system: 'Be brief.',
    prompt: QUESTION,
    maxRetries: 0,
    tools: { read_file },
    stopWhen: isStepCount(4),
  }
  if (!stream) return (await generateText(options)).text
  const result = streamText(options)
  await result.consumeStream()
  return result.text
}

async function langchain(stream: boolean, useResponsesApi: boolean): Promise<string> {
  const configuration = { baseURL: service.base_url }
  const chat = new ChatOpenAI({ model, apiKey: service.person.key, configuration, maxRetries: 0, useResponsesApi })
  const read = langchainTool(() => PRINTED, { ...about, schema: FILE })
  const bound = chat.bindTools([read])
  // biome-ignore lint/suspicious/noExplicitAny: messages of many kinds.
  const messages: any[] = [
    new SystemMessage('Be brief.'),
    new SystemMessage('Use your tool.'),
    new HumanMessage(QUESTION),
  ]
  for (;;) {
    const said = stream ? await gather(await bound.stream(messages)) : await bound.invoke(messages)
    messages.push(said)
    if (!said.tool_calls || said.tool_calls.length === 0) return said.text
    for (const call of said.tool_calls) messages.push(await read.invoke({ ...call, type: 'tool_call' }))
  }
}

async function gather<T extends { concat(other: T): T }>(stream: AsyncIterable<T>): Promise<T> {
  const pieces: T[] = []
  for await (const piece of stream) pieces.push(piece)
  return pieces.reduce((whole, piece) => whole.concat(piece))
}
