import { Ban, CircleAlert } from 'lucide-react'
import { type PointerEvent, useEffect, useRef, useState } from 'react'
import { contentPath, isRunning, type VideoJob } from '../jobs/job.ts'
import { SpritesheetCell } from './spritesheet-cell.tsx'

/** How long the pointer has to rest before the spritesheet is loaded. */
const REST_MS = 150

/** Many new thumbnails at once find no room with the service, which makes some a second. A picture does not say why it failed. */
const [FIRST_RETRY_MS, RETRIES_MAX] = [5000, 4]

type ThumbnailProps = { job: Pick<VideoJob, 'id' | 'status' | 'seconds'> }

/** The thumbnail of a completed video; a placeholder before, and where there is none. Fills its box. */
export function JobThumbnail({ job }: ThumbnailProps) {
  const [failures, setFailures] = useState(0)
  const [waiting, setWaiting] = useState(false)
  useEffect(() => {
    if (!waiting || failures > RETRIES_MAX) return
    const timer = setTimeout(() => setWaiting(false), FIRST_RETRY_MS * 2 ** (failures - 1))
    return () => clearTimeout(timer)
  }, [waiting, failures])
  if (job.status !== 'completed' || waiting) return <PlaceholderThumbnail id={job.id} status={job.status} />
  const onError = () => {
    setFailures(failures + 1)
    setWaiting(true)
  }
  return <LoadedThumbnail job={job} onError={onError} />
}

/** A mouse that moves over it goes through the seconds of the video, unless the person prefers reduced motion. */
function LoadedThumbnail({ job, onError }: ThumbnailProps & { onError: () => void }) {
  const [ratio, setRatio] = useState<number | null>(null)
  const { rested, share, ...pointer } = usePointerShare()
  return (
    <span className="relative block size-full" {...pointer}>
      {ratio === null && <PlaceholderThumbnail id={job.id} status={job.status} />}
      <img
        src={contentPath(job.id, 'thumbnail')}
        alt=""
        loading="lazy"
        decoding="async"
        onLoad={({ currentTarget: image }) => setRatio(image.naturalWidth / image.naturalHeight)}
        onError={onError}
        className={`absolute inset-0 size-full object-contain ${ratio === null ? 'opacity-0' : 'animate-appear'}`}
      />
      {ratio !== null && rested && <SpritesheetCell job={job} ratio={ratio} share={share} />}
    </span>
  )
}

/** How far across the element a mouse is that rests there, from 0 to 1; null while it is elsewhere. `rested`: it has been there. */
function usePointerShare() {
  const [share, setShare] = useState<number | null>(null)
  const [rested, setRested] = useState(false)
  const resting = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(resting.current), [])
  const shareOf = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.min(1, Math.max(0, (clientX - left) / width))
  }
  return {
    rested,
    share,
    onPointerEnter: (event: PointerEvent) => {
      if (event.pointerType !== 'mouse' || matchMedia('(prefers-reduced-motion: reduce)').matches) return
      const first = shareOf(event)
      resting.current = setTimeout(() => {
        setRested(true)
        setShare(first)
      }, REST_MS)
    },
    onPointerMove: (event: PointerEvent) => share !== null && setShare(shareOf(event)),
    onPointerLeave: () => {
      clearTimeout(resting.current)
      setShare(null)
    },
  }
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
