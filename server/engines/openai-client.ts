import Type from 'typebox'
import { type EngineClient, engineClient } from '../platform/outbound/client.ts'
import { BaseUrl, baseUrlMistakes, withVersion } from './base-url.ts'
import type { Mistake } from './engine-entry.ts'
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

export type ChatMessage = { role: 'system' | 'user'; content: string | ContentPart[] }
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
export function openaiClientMistakes({ base_url }: Pick<OpenaiClientOptions, 'base_url'>): Mistake[] {
  return baseUrlMistakes('base_url', base_url)
}

type ChatBody = { model: string; messages: ChatMessage[]; [option: string]: unknown }

/** The text of one complete answer. Throws as `completeChoice` does. */
export async function completeChat(client: EngineClient, body: ChatBody, signal: AbortSignal): Promise<string> {
  return (await completeChoice(client, body, signal)).text
}

/**
 * One complete answer: its text, and the probabilities of its tokens as the server wrote them. Throws EngineError when there is none: a
 * status other than 200, an unreadable body, other than one choice, a truncated answer, a refusal.
 */
export async function completeChoice(
  client: EngineClient,
  body: ChatBody,
  signal: AbortSignal,
): Promise<{ text: string; logprobs: unknown }> {
  const json = (await postJson(
    client,
    '/chat/completions',
    { temperature: 0, stream: false, ...body },
    signal,
  )) as ChatReply
  const choices = json.choices
  if (!Array.isArray(choices) || choices.length !== 1) throw unreadableReply('it does not hold one choice')
  const [choice] = choices
  if (choice?.finish_reason !== 'stop') throw unreadableReply('the answer was cut short')
  const content = choice.message?.content
  if (typeof content !== 'string') throw unreadableReply('the answer holds no text')
  return { text: content, logprobs: choice.logprobs }
}

/** The JSON object with which a model server answers 200. Throws EngineError. */
export async function postJson(client: EngineClient, path: string, body: object, signal: AbortSignal): Promise<object> {
  try {
    const reply = await client.call({ method: 'POST', path, json: body }, signal)
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
