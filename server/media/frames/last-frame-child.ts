import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { serveTask } from '../children/serve.ts'
import { FfmpegError, type FfmpegRunner } from '../ffmpeg/choose.ts'
import { executeFfmpeg } from '../ffmpeg/execute.ts'

export type LastFrameTask = {
  clip: string
  runner: FfmpegRunner
  /** Empty directory for what is made. */
  dir: string
  /** From where on the clip is decoded at first. */
  start_seconds: number
  width: number
  height: number
}

if (process.send) {
  serveTask<LastFrameTask>(async (task, report) => {
    const frame = await decodeLast(task, task.start_seconds, report).catch((error: unknown) => {
      // Nothing is shown so late: the last frame begins earlier, or the end cannot be decoded.
      if (task.start_seconds === 0 || !(error instanceof FfmpegError) || error.fault !== 'failed') throw error
      return decodeLast(task, 0, report)
    })
    const { dir, width, height } = task
    const picture = join(dir, 'last-frame.png')
    await sharp(await readFile(frame), { raw: { width, height, channels: 3 } }).toFile(picture)
    return picture
  })
}

/** Writes each frame over the one before, so that the last one is left, and returns its path. */
async function decodeLast(task: LastFrameTask, from: number, report: (progress: number) => void): Promise<string> {
  const { clip, dir, runner, width, height } = task
  const path = join(dir, 'last.rgb')
  // Of a run that failed.
  await rm(join(dir, 'clip'), { force: true })
  const args = ['-ss', String(from), '-i', 'clip', '-map', '0:V:0', '-an', '-vf', `scale=${width}:${height}`]
    .concat(['-pix_fmt', 'rgb24', '-c:v', 'rawvideo', '-f', 'image2', '-update', '1'])
    .concat('decoded.rgb')
  await executeFfmpeg({ inputs: { clip }, args, outputs: { 'decoded.rgb': path } }, runner, { scratch: dir, report })
  return path
}
