import { setTimeout as wait } from 'node:timers/promises'
import { asRecord } from '../../../platform/json/record.ts'
import type { EngineClient } from '../../../platform/outbound/client.ts'
import { statusError, unreadableReply } from '../../reply-error.ts'
import { callEngine, send } from '../http/call.ts'

/** Where a render is. `ahead` counts the renders before it. */
export type QueuePlace =
  | { in: 'history'; entry: Record<string, unknown> }
  | { in: 'running' }
  | { in: 'pending'; ahead: number }

/**
 * Looks a render up by its id; null when ComfyUI does not know it. A render moves from the queue to the history in one step, so the
 * history is asked again before that answer.
 */
export async function findRender(client: EngineClient, id: string, signal: AbortSignal): Promise<QueuePlace | null> {
  return (
    (await findInHistory(client, id, signal)) ??
    (await findInQueue(client, id, signal)) ??
    (await findInHistory(client, id, signal))
  )
}

/**
 * Has ComfyUI stop a render: takes it out of the queue, or interrupts it once while the queue shows that it is the one that runs. True
 * when it is gone, or ComfyUI has agreed to interrupt it; it then stops at its next step.
 */
export async function stopRender(client: EngineClient, id: string, signal: AbortSignal): Promise<boolean> {
  let interrupted = false
  for (let look = 1; look <= LOOKS_MAX; look++) {
    const place = await findInQueue(client, id, signal)
    if (place === null) return true
    if (place.in === 'pending') await post(client, '/queue', { delete: [id] }, signal)
    else if (!interrupted) interrupted = await post(client, '/interrupt', { prompt_id: id }, signal)
    if (look < LOOKS_MAX) await wait(LOOK_MS, undefined, { signal })
  }
  return interrupted
}

const LOOKS_MAX = 6
const LOOK_MS = 250

async function findInHistory(client: EngineClient, id: string, signal: AbortSignal): Promise<QueuePlace | null> {
  const { json } = await callEngine(client, { method: 'GET', path: `/history/${id}` }, signal)
  const history = asRecord(json)
  if (history === null) throw unreadableReply('it is not a JSON object')
  const entry = asRecord(history[id])
  return entry === null ? null : { in: 'history', entry }
}

async function findInQueue(client: EngineClient, id: string, signal: AbortSignal): Promise<QueuePlace | null> {
  const { json } = await callEngine(client, { method: 'GET', path: '/queue' }, signal)
  const { queue_running: running, queue_pending: pending } = asRecord(json) ?? {}
  if (!Array.isArray(running) || !Array.isArray(pending)) throw unreadableReply('it is not a queue')
  if (running.some((item) => idOf(item) === id)) return { in: 'running' }
  const own = pending.find((item) => idOf(item) === id)
  if (own === undefined) return null
  // The list is in no order; the first member of an item is its number in the queue.
  const ahead = pending.filter((item) => Number(item[0]) < Number(own[0])).length
  return { in: 'pending', ahead: ahead + running.length }
}

/** An item of the queue is `[number, prompt_id, …]`. */
function idOf(item: unknown): unknown {
  return Array.isArray(item) ? item[1] : undefined
}

async function post(client: EngineClient, path: string, json: object, signal: AbortSignal): Promise<boolean> {
  const { status, headers, json: body } = await send(client, { method: 'POST', path, json }, signal)
  if (status >= 200 && status < 300) return true
  const fault = statusError(status, headers, body)
  if (fault.kind === 'transient') throw fault
  return false
}
