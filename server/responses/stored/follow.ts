import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import type { ResponseEvent } from '../call.ts'
import { failureEvents, itemsTold, readEvent } from '../events/lines.ts'
import { RESPONSE_TOPIC } from '../queues.ts'
import type { ResponseObject } from '../schema/response.ts'
import type { Owner } from './store.ts'
import { readEvents, type ToldEvents } from './store-events.ts'

/** News is best effort: what nobody announced shows within a second. */
const LOOK_AGAIN_MILLISECONDS = 1000
/** A read that takes longer was lost with its connection. */
const READ_MILLISECONDS = 5000
/** Batches read at a time, so that a long answer is never whole in memory. */
const BATCHES_MAX = 50

/**
 * What a background response tells after the event `after` (-1: everything), then live until it has ended, from any process. One that
 * is deleted meanwhile is told as failed, so that there is an end in any case; `signal` ends it without. While the database is away it
 * waits, and goes on where it was.
 */
export async function* followEvents(
  ctx: Pick<Context, 'db' | 'changes'>,
  owner: Owner,
  { response, after }: { response: ResponseObject; after: number },
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent[], void, void> {
  const { id } = response
  const items: string[] = []
  const news = listenFor(ctx, id)
  let seen = after
  try {
    while (!signal.aborted) {
      const heard = news.next()
      const told = await readOrWait(ctx, owner, { id, after: seen })
      if (told === 'away') {
        await pause(signal)
        continue
      }
      if (!told) return yield goneEvents(seen + 1, { ...response, output: itemsTold(items) })
      const events = told.batches.length > 0 ? eventsAfter(told, seen) : await lastEvent(ctx, owner, id, told, seen)
      if (events.length > 0) {
        seen = events.at(-1)!.sequence_number
        for (const { type, data } of events) if (type.startsWith('response.output_item.')) items.push(data)
        yield events
      }
      if (told.ended && seen >= told.last_number) return
      if (events.length === 0) await Promise.race([heard, pause(signal)])
    }
  } finally {
    news.close()
  }
}

/** What there is after a number; `away` when the database cannot say at the moment. */
async function readOrWait(
  { db }: Pick<Context, 'db'>,
  owner: Owner,
  { id, after }: { id: string; after: number },
): Promise<ToldEvents | null | 'away'> {
  const over = new AbortController()
  const late = sleep(READ_MILLISECONDS, 'away' as const, { signal: over.signal, ref: false })
  try {
    const read = readEvents(db, owner, { id, after, limit: BATCHES_MAX })
    return await Promise.race([read, late])
  } catch (error) {
    if (isDatabaseDown(error)) return 'away'
    throw error
  } finally {
    late.catch(() => {})
    over.abort()
  }
}

/**
 * Whoever has seen more than there is followed an attempt that was lost, which told more than the one that ended: of that one the end
 * is missing.
 */
async function lastEvent(
  ctx: Pick<Context, 'db'>,
  owner: Owner,
  id: string,
  { ended, last_number }: ToldEvents,
  seen: number,
): Promise<ResponseEvent[]> {
  if (!ended || seen <= last_number) return []
  const told = await readEvents(ctx.db, owner, { id, after: last_number - 1, limit: 1 })
  return told ? eventsAfter(told, last_number - 1) : []
}

function goneEvents(sequence_number: number, response: ResponseObject): ResponseEvent[] {
  const error = { type: 'invalid_request_error', code: 'not_found', message: 'This response was deleted.', param: null }
  const ended = { status: 'failed', completed_at: null, incomplete_details: null, usage: null, error } as const
  return failureEvents(sequence_number, { ...response, ...ended })
}

function eventsAfter({ batches }: ToldEvents, seen: number): ResponseEvent[] {
  return batches.flatMap(({ first_number, events }) =>
    events
      .map((data, index) => ({ number: first_number + index, data }))
      .filter(({ number }) => number > seen)
      .map(({ number, data }) => readEvent(number, data)),
  )
}

/** `next` resolves with the first news of the response after it is called. */
function listenFor({ changes }: Pick<Context, 'changes'>, id: string): { next(): Promise<void>; close(): void } {
  let nudged = Promise.withResolvers<void>()
  const close = changes.on(RESPONSE_TOPIC, (changed) => {
    if (changed === null || changed === id) nudged.resolve()
  })
  return {
    next() {
      nudged = Promise.withResolvers<void>()
      return nudged.promise
    },
    close,
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(LOOK_AGAIN_MILLISECONDS, undefined, { signal, ref: false }).catch(() => {})
}
