import { ChildError, runChild } from '../children/run.ts'
import { chooseRunner, FfmpegError } from '../ffmpeg/choose.ts'
import { ProbeError, probeMedia } from '../probe/probe.ts'
import { withScratch } from '../scratch.ts'
import type { LastFrameTask } from './last-frame-child.ts'

/** Longer than a frame of any usual clip is shown: the last one begins in it. */
const LAST_SECONDS = 0.5
/** Where it does not, the entire clip is decoded: 15 s in 4K may take WebAssembly two minutes of a free core. */
const TIME_LIMIT_SECONDS = 300

type LastFrameOptions = { owner?: string | undefined; signal?: AbortSignal | undefined; work_dir?: string | undefined }

/**
 * Draws the last frame that players show of a clip, in its full size, as a PNG, and gives its path to `use` until that settles. What cannot be
 * decoded at the end is skipped. Throws ProbeError, FfmpegError, ChildrenBusy, the signal's reason, or what `use` throws.
 */
export async function withLastFrame<T>(
  clip: string,
  { owner, signal, work_dir }: LastFrameOptions,
  use: (picture: string) => Promise<T>,
): Promise<T> {
  const { result, tracks } = await probeMedia(clip, 'video', { owner, signal })
  const { width, height } = result
  if (!width || !height) throw new ProbeError('unreadable', 'The clip has no picture.')
  const start_seconds = Math.max(0, (tracks.video_seconds[0] ?? 0) - LAST_SECONDS)
  return await withScratch(work_dir, async (dir) => {
    const runner = await chooseRunner()
    const task: LastFrameTask = { clip, dir, runner, start_seconds, width, height }
    try {
      const picture = await runChild<string>(new URL('./last-frame-child.ts', import.meta.url), task, {
        owner,
        signal,
        kind: 'variant',
        time_limit_seconds: TIME_LIMIT_SECONDS,
        reuse: runner.kind === 'wasm',
      })
      return await use(picture)
    } catch (error) {
      throw error instanceof ChildError ? new FfmpegError(error.fault, error.message, error.log) : error
    }
  })
}
