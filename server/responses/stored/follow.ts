import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { withTimeout } from '../../platform/timeout.ts'
import { failResponse, itemsOfEvents, type ResponseEvent, readEvent } from '../events/event.ts'
import type { ResponseObject } from '../schema/response.ts'
import { listenFor } from './changes.ts'
import { readEvents, type StoredEvents } from './store/events.ts'
import type { Owner } from './store/responses.ts'

/** Announcements are best effort: events that were not announced are read after this. */
const POLL_MILLISECONDS = 1000
/** A read that takes longer has lost its connection. */
const READ_MILLISECONDS = 5000
/** Batches per read, so that a long answer is never in memory at once. */
const BATCHES_MAX = 50
/** Bytes per read. A batch of more is read alone, once there is room for it in memory. */
const READ_BYTES_MAX = 64 * 1024

/**
 * The events of a background response after the number `after` (-1: all), then live until it has ended, from any process. If it is deleted
 * meanwhile, its last events say that it failed, so that every stream has an end; only `signal` ends it without. While the database is
 * unreachable, or `lease` has no room for what comes next, it waits, and then continues where it was.
 */
export async function* followEvents(
  ctx: Pick<Context, 'db' | 'changes'>,
  owner: Owner,
  { response, after, lease }: { response: ResponseObject; after: number; lease: Lease },
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent[], void, void> {
  const { id } = response
  const items: string[] = []
  const changes = listenFor(ctx, id)
  let seen = after
  let large_bytes = 0
  try {
    while (!signal.aborted) {
      const announced = changes.next()
      const bytes_max = Math.max(large_bytes, READ_BYTES_MAX)
      const read = await readUnlessDown(ctx, owner, { id, after: seen, bytes_max })
      if (read === 'down') {
        await pause(signal)
        continue
      }
      if (!read) return yield deletedEvents(seen + 1, { ...response, output: itemsOfEvents(items) })
      if (read.large_bytes > 0) {
        large_bytes = await roomFor(read.large_bytes, lease, signal)
        continue
      }
      const events = read.batches.length > 0 ? eventsAfter(read, seen) : await lastEvent(ctx, owner, id, read, seen)
      if (events.length > 0) {
        seen = events.at(-1)!.sequence_number
        for (const { type, data } of events) if (type.startsWith('response.output_item.')) items.push(data)
        yield events
      }
      lease.giveBack(large_bytes)
      large_bytes = 0
      if (read.ended && seen >= read.last_number) return
      if (events.length === 0) await Promise.race([announced, pause(signal)])
    }
  } finally {
    changes.close()
  }
}

/** Bytes that there is room for: all of them, or none as long as the lease finds no room. */
async function roomFor(bytes: number, lease: Lease, signal: AbortSignal): Promise<number> {
  try {
    await lease.add(bytes)
    return bytes
  } catch {
    await pause(signal)
    return 0
  }
}

/** A page of events after a number; `down` when the database is unreachable. */
async function readUnlessDown(
  { db }: Pick<Context, 'db'>,
  owner: Owner,
  which: { id: string; after: number; bytes_max: number },
): Promise<StoredEvents | null | 'down'> {
  try {
    const read = readEvents(db, owner, { ...which, limit: BATCHES_MAX })
    return await withTimeout(READ_MILLISECONDS, read, () => 'down' as const)
  } catch (error) {
    if (isDatabaseDown(error)) return 'down'
    throw error
  }
}

/**
 * The last event, for a follower that has seen higher numbers: it followed an attempt that was lost and had emitted more than the one that
 * ended.
 */
async function lastEvent(
  ctx: Pick<Context, 'db'>,
  owner: Owner,
  id: string,
  { ended, last_number }: StoredEvents,
  seen: number,
): Promise<ResponseEvent[]> {
  if (!ended || seen <= last_number) return []
  const which = { id, after: last_number - 1, limit: 1, bytes_max: Number.MAX_SAFE_INTEGER }
  const read = await readEvents(ctx.db, owner, which)
  return read ? eventsAfter(read, last_number - 1) : []
}

function deletedEvents(sequence_number: number, response: ResponseObject): ResponseEvent[] {
  return failResponse(response, new ApiError('not_found', 'This response was deleted.'), { sequence_number })
}

function eventsAfter({ batches }: StoredEvents, seen: number): ResponseEvent[] {
  return batches.flatMap(({ first_number, events }) =>
    events
      .map((data, index) => ({ number: first_number + index, data }))
      .filter(({ number }) => number > seen)
      .map(({ number, data }) => readEvent(number, data)),
  )
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(POLL_MILLISECONDS, undefined, { signal, ref: false }).catch(() => {})
}
