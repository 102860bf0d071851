import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { ResponseEvent } from '../call.ts'
import { RESPONSE_TOPIC } from '../queues.ts'
import { appendEvents } from '../stored/store-events.ts'

/** Events that come within this time are written together. Shorter shows text sooner and writes more rows. */
const GATHER_MILLISECONDS = 50
/** Text that may wait to be written; the engine waits with it. */
const WAITING_CHARACTERS_MAX = 1_000_000

/** What a run tells, on its way to whoever follows it. */
export type Telling = {
  /** Adds events. A promise says that too much is waiting: await it before asking for more. */
  tell(events: readonly ResponseEvent[]): Promise<void> | undefined
  /** Resolves once everything is written. Throws as `lost` or the database did. */
  written(): Promise<void>
}

/** Another worker has the response by now, or it has ended: what this run tells is of no use. */
export class ClaimLost extends Error {
  override name = 'ClaimLost'
}

/**
 * Writes events in batches, one after the other, and announces each. The first failure is final: it is thrown by every later call, and
 * `onFailure` hears of it.
 */
export function openTelling(
  ctx: Pick<Context, 'db' | 'changes'>,
  claimed: { id: string; claim_id: string },
  onFailure: (error: unknown) => void,
): Telling {
  let waiting: ResponseEvent[] = []
  let characters = 0
  let writing: Promise<void> | null = null
  let hurried = new AbortController()
  let failure: unknown = null

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = { first_number: waiting[0]!.sequence_number, events: waiting.map(({ data }) => data) }
      waiting = []
      characters = 0
      if (!(await appendEvents(ctx.db, claimed, batch))) throw new ClaimLost('another worker has this response')
      ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
      await sleep(GATHER_MILLISECONDS, undefined, { signal: hurried.signal }).catch(() => {})
    }
  }

  const begin = (): Promise<void> => {
    hurried = new AbortController()
    return write()
      .catch((error: unknown) => {
        failure = error
        onFailure(error)
      })
      .finally(() => {
        writing = null
      })
  }

  return {
    tell(events) {
      if (failure !== null || events.length === 0) return undefined
      for (const event of events) {
        waiting.push(event)
        characters += event.data.length
      }
      writing ??= begin()
      return characters > WAITING_CHARACTERS_MAX ? writing : undefined
    },
    async written() {
      hurried.abort()
      await writing
      if (failure !== null) throw failure
    },
  }
}
