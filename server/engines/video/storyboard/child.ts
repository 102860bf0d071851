import { serveTask } from '../../../media/children/serve.ts'
import { FfmpegError, type FfmpegRunner } from '../../../media/ffmpeg/choose.ts'
import { executeFfmpeg } from '../../../media/ffmpeg/execute.ts'
import { composeTimeline, type Script } from './compose.ts'
import { UnreadableReference } from './draw.ts'
import { renderRun } from './timeline.ts'

/** One render: `dir` holds the inputs and the drawings; the MP4 is written to `output_path`. */
export type RenderTask = { script: Script; dir: string; output_path: string; runner: FfmpegRunner }

/** Share of the progress that is reported for drawing. */
const DRAWN = 0.08

if (process.send) {
  serveTask<RenderTask>(async ({ script, dir, output_path, runner }, report) => {
    const timeline = await composeTimeline(script, dir)
    report(DRAWN)
    const onProgress = (progress: number) => report(DRAWN + (1 - DRAWN) * progress)
    try {
      await executeFfmpeg(renderRun(timeline, output_path), runner, { scratch: dir, report: onProgress })
    } catch (error) {
      const hasMedia = script.inputs.some(({ role }) => role === 'reference_video' || role === 'reference_audio')
      if (error instanceof FfmpegError && hasMedia) {
        const reason = new UnreadableReference('A reference clip or sound cannot be decoded.')
        throw Object.assign(reason, { log: error.log })
      }
      throw error
    }
  })
}
