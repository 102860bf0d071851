import type { ChildKind } from '../children/concurrency-limit.ts'
import { ChildError, runChild } from '../children/run.ts'
import { withScratch } from '../scratch.ts'
import type { FfmpegTask } from './child.ts'
import { chooseRunner, FfmpegError, type FfmpegRunner } from './choose.ts'
import type { FfmpegRun } from './execute.ts'

export type MediaWork = {
  /** As for `runChild`. */
  owner?: string | undefined
  signal?: AbortSignal | undefined
  /** Where temporary directories are made. Default: the system's. */
  work_dir?: string | undefined
}

export type FfmpegOptions = MediaWork & {
  /** As for `runChild`. */
  kind?: ChildKind | undefined
  /** As for `runChild`. */
  has_slot?: boolean | undefined
  time_limit_seconds: number
  /** 0 to 1, never falling; needs `duration_seconds` in the run. */
  on_progress?: ((progress: number) => void) | undefined
  /** As for `runChild`. */
  on_start?: ((pid: number) => void) | undefined
  runner?: FfmpegRunner
}

/**
 * Runs FFmpeg once in a child process and returns the names of the outputs written. Files on disk in, files on disk out.
 * Throws FfmpegError with the end of FFmpeg's log, ChildrenBusy, or the signal's reason on abort, when the child is killed.
 */
export async function runFfmpeg(run: FfmpegRun, options: FfmpegOptions): Promise<string[]> {
  const runner = options.runner ?? (await chooseRunner())
  return await withScratch(options.work_dir, async (scratch) => {
    const task: FfmpegTask = { run, runner, scratch }
    try {
      // In the sandbox of WebAssembly each run has an instance of its own; a native program would be started again anyway.
      const reuse = runner.kind === 'wasm'
      return await runChild<string[]>(new URL('./child.ts', import.meta.url), task, { ...options, reuse })
    } catch (error) {
      throw error instanceof ChildError ? new FfmpegError(error.fault, error.message, error.log) : error
    }
  })
}
