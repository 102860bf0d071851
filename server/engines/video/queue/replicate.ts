import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../../platform/json/record.ts'
import { unreadableReply } from '../../reply-error.ts'
import type { JsonValue, Ticket } from '../contract.ts'
import { callEngine, send } from '../http/call.ts'
import { readCancelReply, readPoll, readStart } from '../reply/read.ts'
import { isRenderId, listIn, memberOf, viewOf } from '../reply/view.ts'
import { type CatalogConnection, type ListQuery, notATicket, pathBelow, type QueueDialect } from './connection.ts'

/**
 * Replicate's predictions. A model is `owner/name`, or a version: `owner/name:version` or its 64 hexadecimal digits. `cancel_after_seconds`:
 * how long a prediction may take there. Sources: https://replicate.com/docs/reference/http, https://www.npmjs.com/package/replicate/v/1.4.0
 */
export function replicateDialect(
  connection: CatalogConnection,
  { cancel_after_seconds }: { cancel_after_seconds?: number },
): QueueDialect {
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
      const reply = await send(client, { method: 'POST', path, timeout_ms, headers, ...body }, signal)
      return { ticket: { id: readStart(reply, WORDS) }, json: reply.json }
    },

    async poll(ticket, signal) {
      const reply = await send(client, { method: 'GET', path: predictionPath(ticket) }, signal)
      const state = readPoll(reply, WORDS, { url_needed: true })
      const hasNoVideo = state.state === 'failed' && state.error.engine_code === 'no_video'
      // Outputs are deleted after an hour.
      return hasNoVideo && memberOf(viewOf(reply.json), ['dataremoved']) === true ? { state: 'lost' } : state
    },

    async cancelRender(ticket, signal) {
      const reply = await send(client, { method: 'POST', path: `${predictionPath(ticket)}/cancel` }, signal)
      const end = readCancelReply(reply, WORDS)
      if (typeof end !== 'string') throw end
      return end === 'gone' || memberOf(viewOf(reply.json), ['status']) !== 'succeeded'
    },

    idOf: readId,
    find: (query) => findPredictions(connection, query),
  }
}

/** Looks through the account's predictions, newest first, for those begun since with this model and input. */
async function findPredictions(
  connection: CatalogConnection,
  { model, input, since }: ListQuery,
): Promise<{ tickets: JsonValue[]; complete: boolean }> {
  const earliest = since.getTime() - CLOCK_TOLERANCE_MS
  const found = new Map<string, JsonValue>()
  let complete = true
  let path: string | null = '/predictions'
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const reply = await callEngine(connection.client, { method: 'GET', path }, new AbortController().signal)
    const page = viewOf(reply.json)
    const results = listIn(page)
    if (results === null) throw unreadableReply('it is not a list')
    for (const view of results) {
      const { id, created_at } = view
      const created = typeof created_at === 'string' ? Date.parse(created_at) : Number.NaN
      if (created < earliest) return { tickets: [...found.values()], complete }
      const match = isId(id) && Number.isFinite(created) ? matches(view, model, input) : null
      if (match === null) complete = false
      if (match && isId(id)) found.set(id, { id })
    }
    const next = memberOf(page, ['next'])
    if (typeof next !== 'string') return { tickets: [...found.values()], complete }
    path = pathBelow(connection, next)
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

function versionOf(model: string): string | null {
  return /^[0-9a-f]{64}$/.test(model) ? model : (/:([^:/]+)$/.exec(model)?.[1] ?? null)
}

function readId(ticket: Ticket): string {
  const id = isRecord(ticket) ? ticket.id : undefined
  if (!isId(id)) throw notATicket()
  return id
}

function predictionPath(ticket: Ticket): string {
  return `/predictions/${encodeURIComponent(readId(ticket))}`
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && isRenderId(id)
}

/** Replicate has no codes; its texts are read as everywhere. */
const WORDS = {}
const CLOCK_TOLERANCE_MS = 5000
const PAGES_MAX = 20
