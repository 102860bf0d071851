import { isDeepStrictEqual } from 'node:util'
import { asRecord, isRecord } from '../../../platform/json/record.ts'
import { EngineError } from '../../engine-error.ts'
import { retryAfterSeconds, statusError, unreadableReply } from '../../reply-error.ts'
import type { JsonValue, RenderState, Ticket } from '../contract.ts'
import { errorFromWords } from '../error-words.ts'
import { ask, send } from '../http/call.ts'
import { type Connection, type Dialect, type ListQuery, notATicket, pathOf } from './connection.ts'
import { findVideoUrl } from './video-url.ts'

/**
 * Replicate's predictions. A model is `owner/name`, or a version: `owner/name:version` or its 64 hexadecimal digits. `cancel_after_seconds`:
 * how long a prediction may take there. Sources: https://replicate.com/docs/reference/http, https://www.npmjs.com/package/replicate/v/1.4.0
 */
export function replicateDialect(
  connection: Connection,
  { cancel_after_seconds }: { cancel_after_seconds?: number },
): Dialect {
  const { client } = connection
  const headers: Record<string, string> =
    cancel_after_seconds === undefined ? {} : { 'cancel-after': `${cancel_after_seconds}s` }

  return {
    cancel: 'any',

    async start({ model, input, encode, timeout_ms }, signal) {
      const version = versionOf(model)
      const path =
        version === null ? `/models/${model.split('/').map(encodeURIComponent).join('/')}/predictions` : '/predictions'
      const body = encode(version === null ? { input } : { version: model, input })
      const reply = await ask(client, { method: 'POST', path, timeout_ms, headers, ...body }, signal)
      const id = asRecord(reply.json)?.id
      if (!isId(id)) throw unreadableReply('it has no usable id')
      return { id }
    },

    async poll(ticket, signal) {
      const reply = await send(client, { method: 'GET', path: `/predictions/${readId(ticket)}` }, signal)
      if (reply.status === 404 || reply.status === 410) return { state: 'lost' }
      if (reply.status !== 200) throw statusError(reply.status, reply.headers, reply.json)
      const state = predictionState(reply.json)
      const wait = retryAfterSeconds(reply.headers)
      return state.state === 'running' && wait !== undefined
        ? { ...state, next_poll_seconds: Math.max(1, wait) }
        : state
    },

    async cancelRender(ticket, signal) {
      const reply = await send(client, { method: 'POST', path: `/predictions/${readId(ticket)}/cancel` }, signal)
      if (reply.status === 404) return true
      if (reply.status < 200 || reply.status > 299) throw statusError(reply.status, reply.headers, reply.json)
      return asRecord(reply.json)?.status !== 'succeeded'
    },

    idOf: readId,
    find: (query) => findPredictions(connection, query),
  }
}

/** Looks through the account's predictions, newest first, for those begun since with this model and input. */
async function findPredictions(
  connection: Connection,
  { model, input, since }: ListQuery,
): Promise<{ tickets: JsonValue[]; complete: boolean }> {
  const earliest = since.getTime() - CLOCK_TOLERANCE_MS
  const found = new Map<string, JsonValue>()
  let complete = true
  let path: string | null = '/predictions'
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const reply = await ask(connection.client, { method: 'GET', path }, new AbortController().signal)
    const { results, next } = asRecord(reply.json) ?? {}
    if (!Array.isArray(results)) throw unreadableReply('it is not a list')
    for (const view of results) {
      const { id, created_at } = asRecord(view) ?? {}
      const created = typeof created_at === 'string' ? Date.parse(created_at) : Number.NaN
      if (created < earliest) return { tickets: [...found.values()], complete }
      const match = isId(id) && Number.isFinite(created) ? matches(view as View, model, input) : null
      if (match === null) complete = false
      if (match && isId(id)) found.set(id, { id })
    }
    if (typeof next !== 'string') return { tickets: [...found.values()], complete }
    path = pathOf(connection, next)
  }
  return { tickets: [...found.values()], complete: false }
}

type View = Record<string, unknown>

/** Null when the view says too little to know. Files in an input are not compared. */
function matches(view: View, model: string, input: ListQuery['input']): boolean | null {
  const version = versionOf(model)
  const [seen, wanted] = version === null ? [view.model, model] : [view.version, version]
  if (typeof seen === 'string' && seen !== wanted) return false
  if (!isRecord(view.input) || view.data_removed === true) return null
  const shown = view.input
  return Object.entries(input).every(([name, value]) => isDeepStrictEqual(shown[name], value))
}

/** The state of a prediction. An unknown status counts as running: the render's time limit ends it. */
function predictionState(json: unknown): RenderState {
  const view = asRecord(json)
  if (typeof view?.status !== 'string') throw unreadableReply('it has no status')
  const { status, error, output, data_removed } = view
  if (status === 'failed') return { state: 'failed', error: errorFromWords(typeof error === 'string' ? error : '') }
  if (status === 'canceled' || status === 'aborted')
    return {
      state: 'failed',
      error: new EngineError('transient', 'The engine ended the render.', { engine_code: status }),
    }
  if (status !== 'succeeded') return { state: 'running' }
  const url = findVideoUrl(output)
  if (url !== null) return { state: 'succeeded', output: { url } }
  // Outputs are deleted after an hour.
  if (data_removed === true) return { state: 'lost' }
  return {
    state: 'failed',
    error: new EngineError('permanent', 'The result holds no video.', { engine_code: 'no_video' }),
  }
}

function versionOf(model: string): string | null {
  return /^[0-9a-f]{64}$/.test(model) ? model : (/:([^:/]+)$/.exec(model)?.[1] ?? null)
}

function readId(ticket: Ticket): string {
  const id = isRecord(ticket) ? ticket.id : undefined
  if (!isId(id)) throw notATicket()
  return id
}

/** An id becomes a part of a path. */
function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[\w-]{1,128}$/.test(id)
}

const CLOCK_TOLERANCE_MS = 5000
const PAGES_MAX = 20
