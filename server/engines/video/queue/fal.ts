import { asRecord } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import type { RenderState, Ticket } from '../contract.ts'
import { send } from '../http/call.ts'
import { isBlocked } from '../reply/blocked.ts'
import { findVideoUrl } from '../reply/clip-url.ts'
import { complaintIn, failureError, type ProtocolWords, refusalError } from '../reply/complaint.ts'
import { moderationError, noVideo, readCancelReply, readStart, readState } from '../reply/read.ts'
import { isRenderId, type ReplyView, viewOf } from '../reply/view.ts'
import { type CatalogConnection, notATicket, pathBelow, type QueueDialect } from './connection.ts'

/**
 * fal's queue. The URLs of a request are stored as the engine gave them. It documents neither a list nor an idempotency key.
 * Sources: https://fal.ai/docs/api-reference/inference-api, https://www.npmjs.com/package/@fal-ai/client/v/1.10.1
 */
export function falDialect(connection: CatalogConnection): QueueDialect {
  const { client } = connection
  const get = (url: string, signal: AbortSignal) =>
    send(client, { method: 'GET', path: pathBelow(connection, url) }, signal)

  return {
    cancel: 'queued',

    async start({ model, input, encode, timeout_ms }, signal) {
      const path = `/${model.split('/').map(encodeURIComponent).join('/')}`
      const reply = await send(client, { method: 'POST', path, timeout_ms, ...encode(input) }, signal)
      const request_id = readStart(reply, WORDS)
      const ticket = { request_id, ...(urlsIn(viewOf(reply.json)) ?? defaultUrls(connection, model, request_id)) }
      for (const url of [ticket.status_url, ticket.response_url, ticket.cancel_url]) pathBelow(connection, url)
      return { ticket, json: reply.json }
    },

    async poll(ticket, signal) {
      const { status_url, response_url } = readTicket(ticket)
      const { queued: _, ...state } = readState(await get(status_url, signal), WORDS)
      const isOver = state.state === 'succeeded' || (state.state === 'failed' && state.error.kind !== 'moderation')
      if (!isOver) return state
      // A request that failed is completed too: its result says why. A result that cannot be had leaves the render finished.
      const otherwise: RenderState = state.state === 'failed' ? state : { state: 'succeeded', output: {} }
      try {
        const result = resultState(await get(response_url, signal))
        return result.state === 'lost' ? otherwise : result
      } catch (error) {
        if (error instanceof EngineError) return otherwise
        throw error
      }
    },

    result: async (ticket, signal) => resultState(await get(readTicket(ticket).response_url, signal)),

    async cancelRender(ticket, signal) {
      const { status_url, cancel_url } = readTicket(ticket)
      const before = readState(await get(status_url, signal), WORDS)
      if (before.state === 'lost') return true
      // A runner decides for itself what to make of the signal: a render that runs is not stopped for certain.
      if (before.state !== 'running' || !before.queued) return false
      const reply = await send(client, { method: 'PUT', path: pathBelow(connection, cancel_url) }, signal)
      const end = readCancelReply(reply, WORDS)
      if (typeof end === 'string') return true
      if (reply.status === 400) return false
      throw end
    },

    idOf: (ticket) => readTicket(ticket).request_id,
  }
}

type FalUrls = { status_url: string; response_url: string; cancel_url: string }
type FalTicket = FalUrls & { request_id: string }

/** The URLs of a request, whatever is around them; null when one is missing. */
function urlsIn({ layers }: ReplyView): FalUrls | null {
  const [found] = layers.flatMap(({ members }) => {
    const [status_url, response_url, cancel_url] = ['status', 'response', 'cancel'].map((name) =>
      members.get(`${name}url`),
    )
    const whole = typeof status_url === 'string' && typeof response_url === 'string' && typeof cancel_url === 'string'
    return whole ? [{ status_url, response_url, cancel_url }] : []
  })
  return found ?? null
}

/** Where a request is that came without URLs: below the first two parts of its model. Source: @fal-ai/client, queue. */
function defaultUrls({ address }: CatalogConnection, model: string, id: string): FalUrls {
  const app = model.split('/').slice(0, 2).map(encodeURIComponent).join('/')
  const response_url = `${address}/${app}/requests/${encodeURIComponent(id)}`
  return { status_url: `${response_url}/status`, response_url, cancel_url: `${response_url}/cancel` }
}

function readTicket(ticket: Ticket): FalTicket {
  const urls = urlsIn(viewOf(ticket))
  const request_id = asRecord(ticket)?.request_id
  if (urls === null || typeof request_id !== 'string' || !isRenderId(request_id)) throw notATicket()
  return { request_id, ...urls }
}

/** Refusals are `{detail: [{loc, msg, type}]}`, or `{detail: text}`. Source: https://fal.ai/docs/model-apis/errors */
const WORDS: ProtocolWords = {
  codes: [[/^(image|video|audio|file)_|^unsupported_(image|video|audio)|^face_detection/, 'media']],
  media_params: /(image|video|audio|frame|reference)(s|_urls?|_\d+)?(\.|$)/i,
}

/** What a completed request came to: the model's own answer, which may be an error. Throws EngineError when the result cannot be had now. */
function resultState(reply: EngineReply): RenderState {
  const { status, json } = reply
  const view = viewOf(json)
  const failed = (error: EngineError): RenderState => ({ state: 'failed', error })
  if (status === 404 || status === 410) return { state: 'lost' }
  if (status < 200 || status > 299) {
    const refusal = refusalError(reply, view, WORDS)
    if (refusal.kind !== 'moderation' && !isVerdict(reply)) throw refusal
    const failure = failureError(view, WORDS)
    return failed(failure.kind === 'rejected' && status >= 500 ? refusal : failure)
  }
  if (asRecord(json) === null) throw unreadableReply('it is not a JSON object')
  const url = findVideoUrl(json)
  if (isBlocked(json, { has_clip: url !== null })) return failed(moderationError(view))
  if (url !== null) return { state: 'succeeded', output: { url } }
  if (!complaintIn(view).is_error) return failed(noVideo())
  const refusal = refusalError(reply, view, WORDS)
  if (refusal.kind === 'transient' || refusal.kind === 'permanent') throw refusal
  return failed(refusal)
}

/**
 * Whether the model itself, or fal in its name, answered with the error of the request. Anything else is of a gateway: the finished clip can
 * be asked for again. Source: https://fal.ai/docs/documentation/deployment/readiness-liveness
 */
function isVerdict({ status, headers, json }: EngineReply): boolean {
  const { detail, error_type } = asRecord(json) ?? {}
  if (status < 400 || [401, 402, 403, 408, 425, 429].includes(status)) return false
  if (headers['x-fal-error-type'] !== undefined || error_type !== undefined) return true
  if (status >= 500) return Array.isArray(detail)
  return detail !== undefined && !/in progress/i.test(String(detail))
}
