import { shellQuote } from '../api/snippets.ts'
import { quoted, type Target } from './programs.ts'

export type Client = 'openai' | 'ai-sdk' | 'langchain' | 'agents' | 'codex'

/** Clients by their own names. */
export const CLIENTS: ReadonlyArray<{ value: Client; label: string }> = [
  { value: 'openai', label: 'OpenAI SDK' },
  { value: 'ai-sdk', label: 'AI SDK' },
  { value: 'langchain', label: 'LangChain' },
  { value: 'agents', label: 'Agents SDK' },
  { value: 'codex', label: 'Codex' },
]

/** How a client is pointed at this service: a program, or what belongs into its configuration. Source: docs/clients.md. */
export function clientProgram(client: Client, { base_url, chat_model }: Target): string {
  const url = `${base_url}/v1`
  switch (client) {
    case 'openai':
      return `export OPENAI_BASE_URL=${shellQuote(url)}
export OPENAI_API_KEY=$KINORA_API_KEY`
    case 'ai-sdk':
      return `import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const openai = createOpenAI({
  apiKey: process.env.KINORA_API_KEY,
  baseURL: ${quoted(url)},
})
const { text } = await generateText({
  model: openai.chat(${quoted(chat_model)}),
  prompt: 'Say hello to Paris.',
})
console.log(text)`
    case 'langchain':
      return `import { ChatOpenAI } from '@langchain/openai'

const chat = new ChatOpenAI({
  model: ${quoted(chat_model)},
  apiKey: process.env.KINORA_API_KEY,
  configuration: { baseURL: ${quoted(url)} },
})
const answer = await chat.invoke('Say hello to Paris.')
console.log(answer.text)`
    case 'agents':
      return `import { Agent, OpenAIProvider, Runner } from '@openai/agents'

const modelProvider = new OpenAIProvider({
  apiKey: process.env.KINORA_API_KEY,
  baseURL: ${quoted(url)},
})
const runner = new Runner({ modelProvider, tracingDisabled: true })
const agent = new Agent({
  name: 'Assistant',
  instructions: 'Be brief.',
  model: ${quoted(chat_model)},
})
const result = await runner.run(agent, 'Say hello to Paris.')
console.log(result.finalOutput)`
    case 'codex':
      return `# ~/.codex/config.toml
model = ${JSON.stringify(chat_model)}
model_provider = "kinora"

[model_providers.kinora]
name = "Kinora"
base_url = ${JSON.stringify(url)}
env_key = "KINORA_API_KEY"
wire_api = "responses"
supports_websockets = true`
  }
}
