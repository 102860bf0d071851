import { serveTask } from '../children/serve.ts'
import type { FfmpegRunner } from './choose.ts'
import { executeFfmpeg, type FfmpegRun } from './execute.ts'

export type FfmpegTask = { run: FfmpegRun; runner: FfmpegRunner; scratch: string }

if (process.send) {
  serveTask<FfmpegTask>(({ run, runner, scratch }, report) => executeFfmpeg(run, runner, { scratch, report }))
}
