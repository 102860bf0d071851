import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runChild } from './child.ts'
import { runFfmpeg } from './ffmpeg.ts'
import type { ShrinkTask } from './image-child.ts'
import { probeFile } from './probe.ts'
import { withScratch } from './scratch.ts'

export type FrameOptions = {
  /** Frames per second of clip, as long as `max` is not passed; then the frames are spread over the whole clip. */
  fps?: number
  max?: number
  /** Most pixels of the longer side. */
  edge?: number
  work_dir?: string
  signal?: AbortSignal
}

const SAMPLE_SECONDS = 60
const SHRINK_SECONDS = 15

/** Tables made for each picture overflow the small stack of FFmpeg's WebAssembly build on some pictures. */
const FIXED_TABLES = ['-huffman', 'default']

/** JPEG pictures of a clip in order of time, at least one, for moderation. Throws ProbeError or FfmpegError for what cannot be decoded. */
export async function sampleFrames(path: string, options: FrameOptions = {}): Promise<Uint8Array[]> {
  const { fps = 1, max = 8, edge = 512, work_dir, signal } = options
  const { duration_seconds } = await probeFile(path, 'video')
  const rate = Math.min(fps, max / (duration_seconds ?? 1))
  const fit = `scale=w='min(${edge},iw)':h='min(${edge},ih)':force_original_aspect_ratio=decrease`
  return await withScratch(work_dir, async (dir) => {
    const names = Array.from({ length: max }, (_, index) => `frame-${index + 1}.jpg`)
    const written = await runFfmpeg(
      {
        inputs: { clip: path },
        args: [
          '-i',
          'clip',
          '-an',
          '-vf',
          `${fit},fps=${rate.toFixed(4)}:start_time=0`,
          '-frames:v',
          String(max),
          '-q:v',
          '4',
          ...FIXED_TABLES,
          'frame-%d.jpg',
        ],
        outputs: Object.fromEntries(names.map((name) => [name, join(dir, name)])),
        allow_missing: true,
      },
      { signal, time_limit_seconds: SAMPLE_SECONDS, work_dir: dir },
    )
    return await Promise.all(written.map(async (name) => new Uint8Array(await readFile(join(dir, name)))))
  })
}

/** JPEG of a picture, upright, transparency on white, its longer side at most `edge` pixels. Throws ChildError for what cannot be decoded. */
export async function shrinkImage(
  path: string,
  { edge = 1024, signal }: { edge?: number; signal?: AbortSignal } = {},
): Promise<Uint8Array> {
  const task: ShrinkTask = { path, edge }
  const entry = new URL('./image-child.ts', import.meta.url)
  return await runChild<Uint8Array>(entry, task, { signal, time_limit_seconds: SHRINK_SECONDS })
}
