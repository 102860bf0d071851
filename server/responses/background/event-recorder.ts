import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import type { ResponseEvent } from '../events/event.ts'
import { appendEvents } from '../stored/store/events.ts'
import { RESPONSE_TOPIC } from '../stored/store/responses.ts'

/** Pause between writes, during which events are batched. Shorter shows text sooner and writes more rows. */
const BATCH_MILLISECONDS = 50
/** Size of the buffer above which `record` asks its caller to wait. */
const BUFFER_CHARACTERS_MAX = 1_000_000

/** Writes the events of a run to the database, where followers read them. */
export type EventRecorder = {
  /** Buffers events. When the buffer is full it returns a promise: await it before recording more. */
  record(events: readonly ResponseEvent[]): Promise<void> | undefined
  /** Resolves when everything is written. Throws ClaimLost, or the error of the database. */
  flush(): Promise<void>
}

/** Another consumer has claimed the response since, or it has ended: this run can write nothing more. */
export class ClaimLost extends Error {
  override name = 'ClaimLost'
}

/** Writes batches one after the other and announces each. The first error is final: `onFailure` is called, and `flush` throws it. */
export function openEventRecorder(
  ctx: Pick<Context, 'db' | 'changes'>,
  claimed: { id: string; claim_id: string },
  onFailure: (error: unknown) => void,
): EventRecorder {
  let buffer: ResponseEvent[] = []
  let characters = 0
  let writing: Promise<void> | null = null
  let skipPause = new AbortController()
  let failure: unknown = null

  const writeBuffer = async (): Promise<void> => {
    while (buffer.length > 0) {
      const batch = { first_number: buffer[0]!.sequence_number, events: buffer.map(({ data }) => data) }
      buffer = []
      characters = 0
      if (!(await appendEvents(ctx.db, claimed, batch))) throw new ClaimLost('another worker has this response')
      ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
      await sleep(BATCH_MILLISECONDS, undefined, { signal: skipPause.signal }).catch(() => {})
    }
  }

  const startWriting = (): Promise<void> => {
    skipPause = new AbortController()
    return writeBuffer()
      .catch((error: unknown) => {
        failure = error
        onFailure(error)
      })
      .finally(() => {
        writing = null
      })
  }

  return {
    record(events) {
      if (failure !== null || events.length === 0) return undefined
      for (const event of events) {
        buffer.push(event)
        characters += event.data.length
      }
      writing ??= startWriting()
      return characters > BUFFER_CHARACTERS_MAX ? writing : undefined
    },
    async flush() {
      skipPause.abort()
      await writing
      if (failure !== null) throw failure
    },
  }
}
