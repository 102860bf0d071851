import { type ComponentType, createContext } from 'react'
import type { VideoJob } from '../jobs/job.ts'

/** Which videos of the gallery are selected. */
export type Selection = {
  chosen: ReadonlyMap<string, VideoJob>
  /** Selects a video or takes it back; `range`: selects all between it and the one before, too. */
  toggle: (job: VideoJob, range: boolean) => void
  /** What stands on a card. It is loaded with the bar. */
  Box: ComponentType<{ job: VideoJob; name: string }>
}

/** Null unless videos are being selected. */
export const SelectionContext = createContext<Selection | null>(null)
