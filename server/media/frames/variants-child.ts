import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp, { type OverlayOptions, type Sharp } from 'sharp'
import type { Size } from '../aspect.ts'
import { serveTask } from '../children/serve.ts'
import { FfmpegError, type FfmpegRunner } from '../ffmpeg/choose.ts'
import { executeFfmpeg } from '../ffmpeg/execute.ts'

/** Makes thumbnail and spritesheet of one clip, in a process of its own. */
export type VariantsTask = {
  clip: string
  runner: FfmpegRunner
  /** Empty directory for what is made on the way. */
  dir: string
  /** One cell for each. */
  seconds: number
  columns: number
  frame: Size
  cell: Size
  /** Where the files are written. */
  thumbnail: string
  spritesheet: string
}

type Report = (progress: number) => void

if (process.send) {
  serveTask<VariantsTask>(async (task, report) => {
    const frames = await decodeFrames(task, report)
    await frames(Math.floor(task.seconds / 2))
      .webp({ quality: 80 })
      .toFile(task.thumbnail)
    await drawSheet(task, frames)
    return null
  })
}

/** The frames at 0, 1, 2 … seconds; past the end of the clip its last one. */
async function decodeFrames(task: VariantsTask, report: Report): Promise<(second: number) => Sharp> {
  const { clip, runner, dir, frame } = task
  const path = join(dir, 'frames.rgb')
  const run = { inputs: { clip }, args: decodeArgs(task), outputs: { 'decoded.rgb': path } }
  await executeFfmpeg(run, runner, { scratch: dir, report })
  const bytes = await readFile(path)
  const size = frame.width * frame.height * 3
  const count = Math.floor(bytes.length / size)
  if (count === 0) throw new FfmpegError('failed', 'The clip has no frame.')
  return (second) => {
    const at = Math.min(second, count - 1) * size
    return sharp(bytes.subarray(at, at + size), { raw: { ...frame, channels: 3 } })
  }
}

/**
 * The first frame of each second. Frames that no other refers to are skipped: that saves a third of the time, and moves a frame by some
 * hundredths of a second. FFmpeg would repeat frames to fill the time between them, so each is declared to last a second.
 */
function decodeArgs({ frame, seconds }: VariantsTask): string[] {
  const filter = `select=gte(t+0.001\\,selected_n),setpts=N/TB,scale=${frame.width}:${frame.height}`
  return ['-skip_frame', 'noref', '-i', 'clip', '-map', '0:V:0', '-an', '-vf', filter, '-r', '1']
    .concat(['-frames:v', String(seconds), '-pix_fmt', 'rgb24', '-f', 'rawvideo'])
    .concat('decoded.rgb')
}

async function drawSheet(
  { cell, columns, seconds, spritesheet }: VariantsTask,
  frames: (second: number) => Sharp,
): Promise<void> {
  const cells: OverlayOptions[] = []
  for (let second = 0; second < seconds; second++) {
    const input = await frames(second)
      .resize({ ...cell, fit: 'fill' })
      .raw()
      .toBuffer()
    const left = (second % columns) * cell.width
    const top = Math.floor(second / columns) * cell.height
    cells.push({ input, raw: { ...cell, channels: 3 }, left, top })
  }
  const size = { width: columns * cell.width, height: Math.ceil(seconds / columns) * cell.height }
  await sharp({ create: { ...size, channels: 3, background: '#000000' } })
    .composite(cells)
    .jpeg({ quality: 75 })
    .toFile(spritesheet)
}
