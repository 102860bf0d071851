import { serveTask } from '../children/serve.ts'
import type { FfmpegRunner } from './choose.ts'
import { executeFfmpeg, type FfmpegRun } from './execute.ts'

/** A process of its own for one run of FFmpeg at a time: it may crash, or be killed, without the service. */
export type FfmpegTask = { run: FfmpegRun; runner: FfmpegRunner; scratch: string }

if (process.send) {
  serveTask<FfmpegTask>(({ run, runner, scratch }, report) => executeFfmpeg(run, runner, { scratch, report }))
}
