import { asRecord, isRecord } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import { retryAfterSeconds, statusError, unreadableReply } from '../../reply-error.ts'
import type { RenderState, Ticket } from '../contract.ts'
import { errorFromWords } from '../error-words.ts'
import { send } from '../http/call.ts'
import { type Connection, type Dialect, notATicket, pathOf } from './connection.ts'
import { findVideoUrl } from './video-url.ts'

/**
 * fal's queue. The URLs of a request are stored as the engine gave them. It documents neither a list nor an idempotency key.
 * Sources: https://fal.ai/docs/api-reference/inference-api, https://www.npmjs.com/package/@fal-ai/client/v/1.10.1
 */
export function falDialect(connection: Connection): Dialect {
  const { client } = connection
  const get = (url: string, signal: AbortSignal) =>
    send(client, { method: 'GET', path: pathOf(connection, url) }, signal)

  return {
    cancel: 'queued',

    async start({ model, input, encode, timeout_ms }, signal) {
      const path = `/${model.split('/').map(encodeURIComponent).join('/')}`
      const reply = await send(client, { method: 'POST', path, timeout_ms, ...encode(input) }, signal)
      if (reply.status < 200 || reply.status > 299) throw replyError(reply)
      const ticket = readUrls(reply.json)
      if (ticket === null) throw unreadableReply('it does not name the request')
      for (const url of [ticket.status_url, ticket.response_url, ticket.cancel_url]) pathOf(connection, url)
      return ticket
    },

    async poll(ticket, signal) {
      const { status_url, response_url } = readTicket(ticket)
      const reply = await get(status_url, signal)
      if (reply.status === 404 || reply.status === 410) return { state: 'lost' }
      const status = statusOf(reply)
      if (status !== 'COMPLETED') return running(reply)
      return resultState(await get(response_url, signal))
    },

    async cancelRender(ticket, signal) {
      const { status_url, cancel_url } = readTicket(ticket)
      const before = await get(status_url, signal)
      if (before.status === 404) return true
      // A runner decides for itself what to make of the signal: a render that runs is not stopped for certain.
      if (statusOf(before) !== 'IN_QUEUE') return false
      const reply = await send(client, { method: 'PUT', path: pathOf(connection, cancel_url) }, signal)
      if (reply.status === 404) return true
      if (reply.status === 400) return false
      if (reply.status < 200 || reply.status > 299) throw replyError(reply)
      return true
    },

    idOf: (ticket) => readTicket(ticket).request_id,
  }
}

type FalTicket = { request_id: string; status_url: string; response_url: string; cancel_url: string }

function readUrls(json: unknown): FalTicket | null {
  const { request_id, status_url, response_url, cancel_url } = asRecord(json) ?? {}
  if (typeof request_id !== 'string' || request_id === '' || request_id.length > 512) return null
  if (typeof status_url !== 'string' || typeof response_url !== 'string' || typeof cancel_url !== 'string') return null
  return { request_id, status_url, response_url, cancel_url }
}

function readTicket(ticket: Ticket): FalTicket {
  const read = readUrls(ticket)
  if (read === null) throw notATicket()
  return read
}

function statusOf(reply: EngineReply): string {
  if (reply.status !== 200 && reply.status !== 202) throw statusError(reply.status, reply.headers, reply.json)
  const status = asRecord(reply.json)?.status
  if (typeof status !== 'string') throw unreadableReply('it has no status')
  return status.toUpperCase()
}

function running({ headers }: EngineReply): RenderState {
  const wait = retryAfterSeconds(headers)
  return { state: 'running', ...(wait === undefined ? {} : { next_poll_seconds: Math.max(1, wait) }) }
}

/** What a completed request came to: the model's own answer, which may be an error. */
function resultState(reply: EngineReply): RenderState {
  if (reply.status === 404 || reply.status === 410) return { state: 'lost' }
  if (reply.status === 200) {
    if (!isRecord(reply.json)) throw unreadableReply('it is not a JSON object')
    const url = findVideoUrl(reply.json)
    if (url !== null) return { state: 'succeeded', output: { url } }
    return {
      state: 'failed',
      error: new EngineError('permanent', 'The result holds no video.', { engine_code: 'no_video' }),
    }
  }
  // Without a detail it is not the model that answered; with these statuses neither.
  const ours = asRecord(reply.json)?.detail === undefined || [401, 402, 403, 408, 425, 429].includes(reply.status)
  if (ours || reply.status < 400) throw statusError(reply.status, reply.headers, reply.json)
  return { state: 'failed', error: replyError(reply) }
}

/** `{detail: [{loc, msg, type}]}`, or `{detail: text}`. Source: https://fal.ai/docs/model-apis/errors */
function replyError(reply: EngineReply): EngineError {
  const detail = asRecord(reply.json)?.detail
  if (typeof detail === 'string' && reply.status < 500) {
    const { kind } = errorFromWords(detail)
    if (kind !== 'rejected')
      return new EngineError(kind, `The engine answered with status ${reply.status}.`, { not_begun: true })
  }
  const first = asRecord(Array.isArray(detail) ? detail[0] : null) ?? {}
  const code = typeof first.type === 'string' ? first.type : ''
  const place = Array.isArray(first.loc) ? first.loc.join('.') : ''
  const media = MEDIA_TYPE.test(code) || MEDIA_PLACE.test(place)
  return statusError(reply.status, reply.headers, { code, param: media ? 'input_references' : place })
}

const MEDIA_TYPE = /^(image|video|audio|file)_|^unsupported_(image|video|audio)|^face_detection/
const MEDIA_PLACE = /(image|video|audio|frame|reference)(s|_urls?|_\d+)?(\.|$)/i
