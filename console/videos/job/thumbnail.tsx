import { Ban, CircleAlert } from 'lucide-react'
import { type PointerEvent, useEffect, useRef, useState } from 'react'
import { contentPath, isRunning, type VideoJob } from '../jobs/job.ts'
import { usePoster } from './posters.ts'

/** How long the pointer has to rest before the video plays. */
const REST_MS = 350

/**
 * The first frame of a video, or a placeholder until there is one. Fills its box. While the pointer rests on it the video plays
 * muted, unless the person prefers reduced motion.
 */
export function JobThumbnail({ job }: { job: Pick<VideoJob, 'id' | 'status'> }) {
  const poster = usePoster(job.status === 'completed' ? job.id : null)
  const [plays, setPlays] = useState(false)
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined)
  const rest = ({ pointerType }: PointerEvent) => {
    if (pointerType !== 'mouse' || matchMedia('(prefers-reduced-motion: reduce)').matches) return
    resting.current = setTimeout(() => setPlays(true), REST_MS)
  }
  const leave = () => {
    clearTimeout(resting.current)
    setPlays(false)
  }
  useEffect(() => () => clearTimeout(resting.current), [])
  if (!poster) return <PlaceholderThumbnail id={job.id} status={job.status} />
  return (
    <span className="relative block size-full" onPointerEnter={rest} onPointerLeave={leave}>
      <img src={poster} alt="" decoding="async" className="size-full animate-appear object-contain" />
      {plays && (
        <video
          src={contentPath(job.id)}
          autoPlay
          muted
          loop
          playsInline
          aria-hidden
          className="absolute inset-0 size-full object-contain"
        />
      )}
    </span>
  )
}

/** A gradient derived from the id, pulsing while the job runs; gray with an icon when it failed or was canceled. */
export function PlaceholderThumbnail({ id, status }: { id: string; status: string }) {
  const hue = hueOf(id)
  const ended = status === 'failed' || status === 'canceled'
  const moves = isRunning({ status: status as VideoJob['status'] })
  const Sign = status === 'failed' ? CircleAlert : Ban
  return (
    <span aria-hidden className="relative block size-full overflow-hidden bg-sunken">
      {!ended && (
        <span
          className={`absolute inset-0 ${moves ? 'animate-breathe' : ''}`}
          style={{
            background: `radial-gradient(120% 90% at 15% 0%, oklch(0.72 0.09 ${hue} / 0.5), transparent 60%), radial-gradient(110% 90% at 90% 100%, oklch(0.6 0.1 ${hue + 70} / 0.45), transparent 65%)`,
          }}
        />
      )}
      {ended && (
        <span className="grid size-full place-items-center text-control">
          <Sign className="size-6" strokeWidth={1.5} />
        </span>
      )}
    </span>
  )
}

/** A hash that differs for ids which differ in their last characters only. FNV-1a. Source: https://datatracker.ietf.org/doc/draft-eastlake-fnv/ */
function hueOf(id: string): number {
  let hash = 0x811c9dc5
  for (const character of id) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0
  return hash % 360
}
