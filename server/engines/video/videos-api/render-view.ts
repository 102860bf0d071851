import { isRecord } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import { renderError, retryAfterSeconds, unreadableReply } from '../../reply-error.ts'
import type { JsonValue, RenderState } from '../contract.ts'
import { isRenderId } from '../recover-from-list.ts'

/** An engine's view of one render; read leniently, since no two engines agree. */
export type RenderView = Record<string, unknown> & { id: string }

/** The view in a reply to a start or a poll. Throws EngineError `transient` when there is none: nothing is known then. */
export function readView(json: unknown): RenderView {
  const view = isRecord(json) && isRecord(json.data) ? json.data : json
  if (!isRecord(view)) throw unreadableReply('it is not a JSON object')
  const { id } = view
  if (typeof id !== 'string' || !isRenderId(id)) throw unreadableReply('it has no usable id')
  return view as RenderView
}

/** The state of a polled render. An unknown status counts as running: the render's time limit ends it. */
export function renderState(reply: EngineReply, id: string): RenderState {
  if (!isRecord(reply.json)) throw unreadableReply('it is not a JSON object')
  const view = reply.json
  const status = typeof view.status === 'string' ? view.status.toLowerCase() : null
  if (status === null) throw unreadableReply('it has no status')
  if (DONE.has(status)) return { state: 'succeeded', output: { id, ...outputUrl(view) } }
  if (ENDED.has(status))
    return {
      state: 'failed',
      error: new EngineError('transient', 'The engine ended the render.', { engine_code: status }),
    }
  if (FAILED.has(status)) return { state: 'failed', error: renderError(view.error ?? view) }
  const wait = retryAfterSeconds(reply.headers)
  return {
    state: 'running',
    ...progress(view.progress),
    ...(wait === undefined ? {} : { next_poll_seconds: Math.max(1, wait) }),
  }
}

const DONE = new Set(['completed', 'succeeded', 'success', 'done'])
const FAILED = new Set(['failed', 'failure', 'error', 'rejected'])
const ENDED = new Set(['cancelled', 'canceled', 'expired'])

function outputUrl(view: Record<string, unknown>): { url?: JsonValue } {
  const urls = Array.isArray(view.unsigned_urls) ? view.unsigned_urls : []
  const url = urls[0] ?? view.video_url ?? view.url
  return typeof url === 'string' && /^https?:\/\//i.test(url) ? { url } : {}
}

function progress(value: unknown): { progress?: number } {
  const percent = Number(value ?? Number.NaN)
  return Number.isFinite(percent) ? { progress: Math.max(0, Math.min(99, Math.floor(percent))) } : {}
}
