import { serveTask } from './child-task.ts'
import { executeFfmpeg, type FfmpegRun } from './ffmpeg-execute.ts'
import type { FfmpegRunner } from './ffmpeg-runner.ts'

export type FfmpegTask = { run: FfmpegRun; runner: FfmpegRunner; scratch: string }

if (process.send) {
  serveTask<FfmpegTask>(({ run, runner, scratch }, report) => executeFfmpeg(run, runner, { scratch, report }))
}
