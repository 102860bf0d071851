import { createServer, type ServerResponse } from 'node:http'
import { close, listen } from '../listen.ts'
import { chunk, completion, textFrames, USAGE } from './chat-upstream.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests have many shapes.
export type Sent = Record<string, any>

/** What the model does next: it says something, or calls a tool with these arguments. */
export type Step = { text: string } | { call: string; with: object }

/** A chat server that accepts what the strictest ones do. `refused` says what it would not take, and stays empty when all is well. */
export type StrictUpstream = {
  url: string
  requests: Sent[]
  refused: string[]
  /** The steps of every conversation: as many are done as it has outputs of tools. After the last the model says `Hello there.` */
  play(...steps: Step[]): void
  close(): Promise<void>
}

/** Members of a request to OpenAI that model servers know. Source: https://docs.vllm.ai/en/latest/serving/openai_compatible_server */
const MEMBERS = new Set(
  `model messages stream stream_options n temperature top_p frequency_penalty presence_penalty seed stop max_completion_tokens logprobs
  top_logprobs logit_bias response_format reasoning_effort user tools tool_choice parallel_tool_calls`.split(/\s+/),
)

const MEMBERS_OF: Record<string, readonly string[]> = {
  system: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'refusal'],
  tool: ['role', 'content', 'tool_call_id'],
}

export async function startStrictUpstream(): Promise<StrictUpstream> {
  const requests: Sent[] = []
  const refused: string[] = []
  let steps: readonly Step[] = []
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const request = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Sent
    requests.push(request)
    const problem = problemOf(request)
    const done = request.messages.filter(({ role }: Sent) => role === 'tool').length
    if (problem === null) return answer(response, request, steps[done] ?? { text: 'Hello there.' })
    refused.push(problem)
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: problem, type: 'BadRequestError', code: 400 } }))
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}/v1`,
    requests,
    refused,
    play: (...script) => {
      steps = script
    },
    close: () => close(server),
  }
}

/** What is wrong with a request: a member it does not know, or a conversation that strict chat templates reject. */
function problemOf(request: Sent): string | null {
  const unknown = Object.keys(request).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined) return `Extra inputs are not permitted: ${unknown}`
  const messages = request.messages as Sent[]
  const found = messages.flatMap((message, index) => messageProblem(message, index) ?? [])
  if (found.length > 0) return found[0]!
  const calls = new Set<string>()
  for (const [index, { role, tool_calls = [], tool_call_id }] of messages.entries()) {
    if (role === 'tool' && !calls.delete(tool_call_id)) return `messages[${index}]: no call before this output`
    if (role !== 'tool' && calls.size > 0) return `messages[${index}]: a call has no output`
    for (const { id } of tool_calls) calls.add(id)
  }
  return calls.size > 0 ? 'The last call has no output' : null
}

function messageProblem(message: Sent, index: number): string | null {
  const { role, content, tool_calls } = message
  const members = MEMBERS_OF[role]
  if (members === undefined) return `messages[${index}]: unknown role ${role}`
  const unknown = Object.keys(message).find((name) => !members.includes(name))
  if (unknown !== undefined) return `Extra inputs are not permitted: messages[${index}].${unknown}`
  if (role === 'system' && index > 0) return 'System message must be at the beginning.'
  if (content === null && tool_calls === undefined) return `messages[${index}]: no content`
  for (const call of tool_calls ?? []) if (!isObject(call.function.arguments)) return `messages[${index}]: not JSON`
  return JSON.stringify(message).includes('\\u0000') ? `messages[${index}]: NUL` : null
}

/** Templates of models read the arguments of earlier calls as JSON. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function answer(response: ServerResponse, { stream, messages }: Sent, step: Step): void {
  // No two calls of a conversation share an id.
  const id = `call_${messages.length}`
  const called = 'call' in step && { name: step.call, arguments: JSON.stringify(step.with) }
  const tool_calls = called ? [{ index: 0, id, type: 'function', function: called }] : undefined
  const finish_reason = tool_calls ? 'tool_calls' : 'stop'
  const text = 'text' in step ? step.text : null
  if (stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify(completion({ content: text, tool_calls }, { finish_reason, usage: USAGE })))
  }
  const calling = [chunk({ role: 'assistant', content: null, tool_calls }), chunk({}, { finish_reason })]
  const frames = text === null ? [...calling, ...textFrames([]).slice(-1)] : textFrames([text])
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`)
}
