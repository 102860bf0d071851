import assert from 'node:assert/strict'
import { acceptStream, type Wire } from '../data/response-grammar.ts'
import { chunk, textFrames, type UpstreamReply } from '../upstream/chat-upstream.ts'
import type { TestPerson } from './app.ts'
import type { MeteredChatApp } from './metered-chat-app.ts'
import { type HttpResponse, send } from './send.ts'

/** Asks `far-1` for a response to "Hello". */
export function createResponse(
  app: { url: string },
  { key }: { key: string },
  changes: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<HttpResponse> {
  const body = { model: 'far-1', input: 'Hello', ...changes }
  return send(app, 'POST', '/v1/responses', { key, ...(signal && { signal }) }, body)
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
export function readStored(app: { url: string }, { key }: { key: string }, id: string): Promise<HttpResponse> {
  return send(app, 'GET', `/v1/responses/${id}`, { key })
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

/** An event of a response as a client reads it. */
// biome-ignore lint/suspicious/noExplicitAny: events have many shapes.
export type ResponseEvent = { type: string; sequence_number: number; [member: string]: any }

/** The events of a whole stream. Throws on a frame that is none, on a name that is not the type, and without the end mark. */
export function readEvents(text: string): ResponseEvent[] {
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`stream without its end: ${text.slice(-80)}`)
  return readFrames(text.slice(0, -'data: [DONE]\n\n'.length))
}

/** The events of the beginning of a stream that ends with a whole frame. */
export function readFrames(text: string): ResponseEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== ': keepalive')
    .map((frame) => {
      const [, name, data] = /^event: (\S+)\ndata: ([^\n]+)$/.exec(frame) ?? []
      if (data === undefined) throw new Error(`not an event: ${frame.slice(0, 80)}`)
      const event = JSON.parse(data) as ResponseEvent
      if (event.type !== name) throw new Error(`${name} holds ${event.type}`)
      return event
    })
}
