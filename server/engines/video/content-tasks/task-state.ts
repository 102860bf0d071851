import { isRecord } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'
import { EngineError } from '../../engine-error.ts'
import { retryAfterSeconds, unreadableReply } from '../../reply-error.ts'
import type { RenderState } from '../contract.ts'
import { isRenderId, type ListedRender } from '../recover-from-list.ts'
import type { Dialect } from './dialects/dialect.ts'
import { failureError, refusalError } from './task-error.ts'

/** The id in the reply to a start. Throws EngineError. */
export function readTaskId(dialect: Dialect, reply: EngineReply): string {
  const id = dialect.taskId(reply.json)
  if (typeof id === 'string' && isRenderId(id)) return id
  throw unreadableReply('it has no usable id')
}

/** The state in the reply to a poll. An unknown status counts as running: the render's time limit ends it. Throws EngineError. */
export function readState(dialect: Dialect, reply: EngineReply): RenderState & { queued?: boolean } {
  if (reply.status === 404 || reply.status === 410 || isForgotten(reply)) return { state: 'lost' }
  if (reply.status !== 200) throw refusalError(dialect, reply)
  const task = dialect.task(reply.json)
  if (!isRecord(task) || typeof task.status !== 'string') throw unreadableReply('it has no status')
  const status = task.status.toLowerCase()
  if (status === 'succeeded') {
    const url = dialect.outputUrl(task)
    return { state: 'succeeded', output: typeof url === 'string' && /^https?:\/\//i.test(url) ? { url } : {} }
  }
  if (status === 'cancelled' || status === 'expired')
    return {
      state: 'failed',
      error: new EngineError('transient', 'The engine ended the render.', { engine_code: status }),
    }
  if (status === 'failed') return { state: 'failed', error: failureError(dialect, task.error) }
  const wait = retryAfterSeconds(reply.headers)
  return {
    state: 'running',
    ...(wait === undefined ? {} : { next_poll_seconds: Math.max(1, wait) }),
    ...(status === 'queued' ? { queued: true } : {}),
  }
}

/** Past the window of 7 days, MiniMax calls the id invalid. */
function isForgotten({ status, json }: EngineReply): boolean {
  const error = isRecord(json) ? json.error : undefined
  const message = isRecord(error) ? error.message : undefined
  return status === 400 && typeof message === 'string' && /invalid task.?id/i.test(message)
}

/** What a start asked for, as far as a list may show it. */
export type Asked = { model: string; duration: number; ratio?: string; seed?: unknown }

/** A task of the model and length asked for, with the seed and ratio where both sides have one. */
export function isTaskOf(view: ListedRender, asked: Asked): boolean {
  const { model, duration, ratio } = view
  // An Ark endpoint is asked for by its own name and listed by its model's.
  if (typeof model === 'string' && model !== asked.model && !asked.model.startsWith('ep-')) return false
  if (duration != null && Number(duration) !== asked.duration) return false
  if (isExact(asked.ratio) && typeof ratio === 'string' && ratio !== asked.ratio) return false
  return view.seed == null || asked.seed === undefined || hasSeed(view, asked)
}

/** The task of an attempt by its seed: nobody else sends that one. */
export function hasSeed(view: ListedRender, { seed }: Asked): boolean {
  return seed !== undefined && view.seed != null && Number(view.seed) === seed
}

function isExact(ratio: string | undefined): boolean {
  return ratio !== undefined && ratio !== 'adaptive'
}
