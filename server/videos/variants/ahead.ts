import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFairQueue } from '../../platform/fair-queue.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import type { VideoJobRow } from '../store.ts'

export type Ahead = {
  add(job: VideoJobRow): void
  stop(): Promise<void>
}

/** Most jobs that wait, and most of one organization. The variants of others are made when they are first asked for. */
const WAITING_MAX = 64
const WAITING_OF_ONE_MAX = WAITING_MAX / 2
/** Between two jobs. A console that shows the job asks for its thumbnail before. */
const PAUSE_MS = 1000
/** Above this share of its time the event loop has no room for work that nobody waits for. */
const BUSY_SHARE = 0.25

/**
 * Makes variants of jobs that just completed, one at a time, the organizations in turns, while the service is not busy. The list is in
 * memory only: what is not on it, or lost with the process, is made on the first request.
 */
export function openAhead(
  make: (job: VideoJobRow) => Promise<void>,
  { pause_ms = PAUSE_MS }: { pause_ms?: number } = {},
): Ahead {
  const waiting = openFairQueue<VideoJobRow>()
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | null = null

  const run = async () => {
    while (waiting.size() > 0) {
      const before = performance.eventLoopUtilization()
      await sleep(pause_ms, undefined, { signal, ref: false })
      if (performance.eventLoopUtilization(before).utilization > BUSY_SHARE) continue
      const { owner, item } = waiting.take()!
      // Whoever asks for it meets the same error, or none.
      await takingTurnsAs(owner, () => make(item)).catch(() => {})
    }
  }
  const start = () => {
    running = run()
      .catch(() => {})
      .finally(() => {
        running = null
        if (waiting.size() > 0 && !signal.aborted) start()
      })
  }
  return {
    add(job) {
      if (signal.aborted || waiting.size() >= WAITING_MAX || waiting.size(job.org_id) >= WAITING_OF_ONE_MAX) return
      waiting.add(job.org_id, job)
      if (running === null) start()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
