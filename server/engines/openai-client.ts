import Type from 'typebox'
import { type EngineClient, engineClient } from '../platform/outbound/client.ts'
import { BaseUrl, baseUrlMistakes, withVersion } from './base-url.ts'
import type { EntryMistake } from './engine-entry.ts'
import { callError, statusError, unreadableReply } from './reply-error.ts'

/** Where a model server is and how to be let in. `/v1` is added to a base URL that names no version. */
export const OpenaiClientOptions = {
  base_url: BaseUrl,
  api_key: Type.Optional(Type.String()),
  headers: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String())),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
}
export type OpenaiClientOptions = {
  base_url: string
  api_key?: string
  headers?: Record<string, string>
  timeout_seconds?: number
}

export type InstructionMessage = { role: 'system' | 'user'; content: string | ContentPart[] }
export type ContentPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

export function openaiClient({ base_url, api_key, headers, timeout_seconds = 30 }: OpenaiClientOptions): EngineClient {
  return engineClient({
    base_url: withVersion(base_url),
    timeout_ms: timeout_seconds * 1000,
    ...(api_key === undefined ? {} : { api_key }),
    ...(headers === undefined ? {} : { headers }),
  })
}

/** Mistakes in the address of a model server. */
export function openaiClientMistakes({ base_url }: Pick<OpenaiClientOptions, 'base_url'>): EntryMistake[] {
  return baseUrlMistakes('base_url', base_url)
}

/** `timeout_ms`: in place of the client's. */
export type CallLimits = { signal: AbortSignal; timeout_ms?: number | undefined }

type ChatBody = { model: string; messages: InstructionMessage[]; [option: string]: unknown }

/** The text of one complete answer. Throws as `completeChoice` does, and for an answer that was cut. */
export async function completeChat(
  client: EngineClient,
  body: ChatBody,
  { signal, timeout_ms }: CallLimits,
): Promise<string> {
  const { text, ended_by } = await completeChoice(client, body, { signal, timeout_ms })
  if (ended_by !== 'model') throw unreadableReply('the answer was cut short')
  return text
}

/**
 * One answer: its text, whether the model or the limit of tokens ended it, and the probabilities of its tokens as the server wrote them.
 * Throws EngineError when there is none: a status other than 200, an unreadable body, other than one choice, a refusal.
 */
export async function completeChoice(
  client: EngineClient,
  body: ChatBody,
  limits: CallLimits,
): Promise<{ text: string; ended_by: 'model' | 'limit' | 'unknown'; logprobs: unknown }> {
  const asked = { temperature: 0, stream: false, ...body }
  const { choices } = (await postJson(client, '/chat/completions', asked, limits)) as ChatReply
  if (!Array.isArray(choices) || choices.length !== 1) throw unreadableReply('it does not hold one choice')
  const [choice] = choices
  const content = choice?.message?.content
  if (typeof content !== 'string') throw unreadableReply('the answer holds no text')
  return { text: content, ended_by: endOf(choice?.finish_reason), logprobs: choice?.logprobs }
}

function endOf(finish_reason: unknown): 'model' | 'limit' | 'unknown' {
  const word = typeof finish_reason === 'string' ? finish_reason.toLowerCase() : ''
  if (ENDED_BY_MODEL.has(word)) return 'model'
  return word === 'length' || word === 'max_tokens' ? 'limit' : 'unknown'
}

/** Beside OpenAI's: Together's `eos`, watsonx's `eos_token` and Anthropic's words. Source: https://github.com/vibrantlabsai/ragas/issues/1548 */
const ENDED_BY_MODEL: ReadonlySet<string> = new Set(['stop', 'eos', 'eos_token', 'end_turn', 'stop_sequence'])

/** The JSON object with which a model server answers 200. Throws EngineError. */
export async function postJson(
  client: EngineClient,
  path: string,
  body: object,
  { signal, timeout_ms }: CallLimits,
): Promise<object> {
  try {
    const limit = timeout_ms === undefined ? {} : { timeout_ms }
    const reply = await client.call({ method: 'POST', path, json: body, ...limit }, signal)
    if (reply.status !== 200) throw statusError(reply.status, reply.headers, reply.json)
    if (typeof reply.json !== 'object' || reply.json === null) throw unreadableReply('it is not a JSON object')
    return reply.json
  } catch (error) {
    throw callError(error)
  }
}

/** A picture as the URL that carries it. */
export function imagePart({ media_type, bytes }: { media_type: string; bytes: Uint8Array }): ContentPart {
  return { type: 'image_url', image_url: { url: `data:${media_type};base64,${Buffer.from(bytes).toString('base64')}` } }
}

type ChatReply = {
  choices?: Array<{ finish_reason?: unknown; message?: { content?: unknown } | null; logprobs?: unknown } | null>
}
