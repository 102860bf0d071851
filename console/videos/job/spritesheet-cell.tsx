import { useState } from 'react'
import { contentPath, type VideoJob } from '../jobs/job.ts'

/** Cells in a row of a spritesheet. Source: docs/api/videos.md, content. */
const COLUMNS = 4

type CellProps = {
  job: Pick<VideoJob, 'id' | 'seconds'>
  /** Width by height of the video. */
  ratio: number
  /** From 0, the first second, to 1, the last; null shows nothing, and keeps the spritesheet for the next time. */
  share: number | null
}

/** One frame of the spritesheet, over the thumbnail and as large, with a line that shows how far into the video it is. */
export function SpritesheetCell({ job, ratio, share }: CellProps) {
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading')
  if (state === 'failed') return null
  const shown = state === 'ready' && share !== null
  const second = Math.min(job.seconds - 1, Math.floor((share ?? 0) * job.seconds))
  const [column, row] = [second % COLUMNS, Math.floor(second / COLUMNS)]
  return (
    <span aria-hidden className={`absolute inset-0 flex items-center justify-center ${shown ? '' : 'opacity-0'}`}>
      <span
        className="relative block shrink-0 overflow-hidden [clip-path:inset(0_1px_1px_0)]"
        // As wide or as high as the box of 16:9 around it, whichever is less. Rounding would show a line of the cells beside it.
        style={{ aspectRatio: String(ratio), ...(ratio > 16 / 9 ? { width: '100%' } : { height: '100%' }) }}
      >
        <img
          src={contentPath(job.id, 'spritesheet')}
          alt=""
          onLoad={() => setState('ready')}
          onError={() => setState('failed')}
          className="absolute max-w-none"
          style={{ width: `${COLUMNS * 100}%`, left: `${column * -100}%`, top: `${row * -100}%` }}
        />
      </span>
      <span className="absolute start-0 bottom-0 h-0.5 bg-accent" style={{ width: `${(share ?? 0) * 100}%` }} />
    </span>
  )
}
