import { useSyncExternalStore } from 'react'
import { useText } from '../../text/use-text.ts'
import { StatusBadge, type Tone } from '../../ui/data/badge.tsx'
import { isRunning, type VideoJob } from '../jobs/job.ts'

const WORDED = ['moderating', 'translating', 'queued', 'in_progress', 'completed', 'failed', 'canceled'] as const
const TONES: Partial<Record<string, Tone>> = { completed: 'success', failed: 'danger', canceled: 'neutral' }

/** The text of a status; an unknown one counts as processing. */
function useStatusName(status: string): string {
  const t = useText('videos')
  const worded = WORDED.find((each) => each === status)
  return t(`status.${worded ?? 'other'}`)
}

/** `short` leaves the percentage to the bar beside it. */
export function JobStatus({ job, short }: { job: Pick<VideoJob, 'status' | 'progress'>; short?: boolean }) {
  const { status, progress } = job
  const name = useStatusName(status)
  return (
    <StatusBadge tone={TONES[status] ?? 'accent'} live={isRunning(job) && !short}>
      {status === 'in_progress' && progress > 0 && !short ? `${name} ${progress}%` : name}
    </StatusBadge>
  )
}

/** Seconds since `since`, a Unix time, updated every second. */
export function Elapsed({ since }: { since: number }) {
  const now = useSyncExternalStore(listenToClock, readClock)
  return <span className="tabular-nums">{clockTime(now - since)}</span>
}

const watching = new Set<() => void>()
let clock: ReturnType<typeof setInterval> | undefined

/** One timer for all, so that they change together. */
function listenToClock(listener: () => void): () => void {
  watching.add(listener)
  clock ??= setInterval(() => {
    for (const each of watching) each()
  }, 1000)
  return () => {
    watching.delete(listener)
    if (watching.size > 0) return
    clearInterval(clock)
    clock = undefined
  }
}

/** In whole Unix seconds. */
function readClock(): number {
  return Math.floor(Date.now() / 1000)
}

/** `0:42`, `12:05`, `1:02:03`. */
export function clockTime(seconds: number): string {
  const total = Math.max(0, Math.floor(seconds))
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}
