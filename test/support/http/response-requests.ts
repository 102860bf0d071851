import assert from 'node:assert/strict'
import { acceptStream, type Wire } from '../data/response-grammar.ts'
import { chunk, textFrames, type UpstreamReply } from '../upstream/chat-upstream.ts'
import type { TestPerson } from './app.ts'
import type { MeteredChatApp } from './metered-chat-app.ts'
import { readEvents } from './response-stream.ts'

/** An answer of `POST /v1/responses`; `json` is null for a stream. */
export type ResponseAnswer = { status: number; headers: Headers; text: string; json: Wire }

/** Asks `far-1` for a response to "Hello". */
export async function createResponse(
  app: { url: string },
  person: { key: string },
  changes: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<ResponseAnswer> {
  const response = await fetch(`${app.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'far-1', input: 'Hello', ...changes }),
    ...(signal ? { signal } : {}),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : null,
  }
}

/** A streamed response, checked by `acceptStream`. `reply`: the answer of the model server. */
export async function streamResponse(
  service: MeteredChatApp,
  person: TestPerson,
  { reply, ...changes }: { reply?: UpstreamReply } & Record<string, unknown> = {},
) {
  if (reply) service.upstream.reply(reply)
  const answer = await createResponse(service.app, person, { stream: true, ...changes })
  assert.equal(answer.status, 200, answer.text)
  const events: Wire[] = readEvents(answer.text)
  return {
    ...answer,
    events,
    types: events.map(({ type }) => type.replace('response.', '')),
    built: acceptStream(events),
  }
}

/** The stored response, or the error for it. */
export async function readStored(app: { url: string }, person: { key: string }, id: string): Promise<ResponseAnswer> {
  const response = await fetch(`${app.url}/v1/responses/${id}`, { headers: { authorization: `Bearer ${person.key}` } })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

/** A reply of the model server with these deltas. */
export function replyOf(
  deltas: readonly object[],
  { finish_reason = 'stop', ...rest }: { finish_reason?: string; piece_bytes?: number } = {},
): UpstreamReply {
  const frames = [...deltas.map((delta) => chunk(delta)), chunk({}, { finish_reason }), ...textFrames([]).slice(-1)]
  return { kind: 'stream', frames, ...rest }
}

/** Deltas of one call, its arguments in pieces. */
export function callDeltas(index: number, call: { id: string; name: string; pieces: readonly string[] }): object[] {
  const { id, name, pieces } = call
  return [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  ]
}

export const functionTool = (name: string, parameters: object = { type: 'object' }) => ({
  type: 'function',
  name,
  parameters,
})
