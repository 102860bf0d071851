import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runChild } from '../children/run.ts'
import { decodeAll } from '../ffmpeg/decode-all.ts'
import { type MediaWork, runFfmpeg } from '../ffmpeg/run.ts'
import { ProbeError, probeMedia } from '../probe/probe.ts'
import { withScratch } from '../scratch.ts'
import type { PictureReply, PictureTask } from './picture-child.ts'

export type FrameOptions = MediaWork & {
  /** Beyond so many, frames are spread over the whole clip. */
  max?: number
  /** Most pixels of the longer side. */
  edge?: number
}

/** Frames taken from each second of a clip. */
const FRAMES_PER_SECOND = 1
/** Most frames of one clip or animated picture. Source: docs/engines.md, moderation. */
const FRAMES_MAX = 16
const FRAME_EDGE = 512
const PICTURE_EDGE = 1024

/** A clip of 15 s in 4K may take WebAssembly two minutes of a free core. */
const SAMPLE_SECONDS = 300
const PICTURE_SECONDS = 60

/** The end of a clip may be off by this much: containers round. */
const ROUNDING_SECONDS = 0.1
/** Frames beyond those expected for its length with which a clip holds more than its headers say. */
const UNEXPECTED_MAX = 1

/** Longer than one frame of an animated picture can be shown. */
const FAR_SECONDS = 100_000

/** Tables made for each picture overflow the small stack of FFmpeg's WebAssembly build on some pictures. */
const FIXED_TABLES = ['-huffman', 'default']

/**
 * JPEG pictures of a clip in order of time, over all that its picture track holds, what an edit list hides included, at least one. One
 * frame that cannot be decoded, frames that end before or go on after the length in its headers, and a second picture track make it
 * unusable.
 * Throws ProbeError, FfmpegError or ChildrenBusy.
 */
export async function sampleFrames(path: string, options: FrameOptions = {}): Promise<Uint8Array[]> {
  const { max = FRAMES_MAX, edge = FRAME_EDGE } = options
  const { spans, tracks, demuxer } = await probeMedia(path, 'video', options)
  const [span, ...others] = spans.video
  if (others.length > 0) throw new ProbeError('several_pictures', 'The clip has several picture tracks.')
  if (span === undefined || !(span.seconds > 0)) throw new ProbeError('unreadable', 'The clip has no picture.')
  const { seconds } = span
  const rate = Math.min(FRAMES_PER_SECOND, max / seconds)
  const filter = `fps=${rate.toFixed(4)}:start_time=0,${fitting(edge)}`
  // The first frame is repeated where pictures begin after the sound.
  const most = Math.ceil(Math.max(seconds, tracks.video_seconds[0]!) * rate) + UNEXPECTED_MAX
  const frames = await extractFrames(path, { filter, max: most + 1, demuxer }, options)
  const promised = Math.max(1, Math.min(max, Math.round((seconds - ROUNDING_SECONDS) * rate)))
  if (frames.length < promised) throw new ProbeError('ends_early', 'The clip ends before the length it announces.')
  if (frames.length > most) throw new ProbeError('unreadable', 'The clip goes on after the length it announces.')
  return frames
}

/**
 * What a picture shows, as JPEGs: one of at most 1024 pixels a side, upright, transparency on white. Of an animated one, frames of at
 * most 512 pixels: all of them up to 16, else 16 spread over its time.
 * Throws ChildError, ProbeError, FfmpegError or ChildrenBusy for what cannot be decoded to its end.
 */
export async function picturesOf(path: string, options: MediaWork = {}): Promise<Uint8Array[]> {
  const task: PictureTask = { path, edge: PICTURE_EDGE, frame_edge: FRAME_EDGE, frames_max: FRAMES_MAX }
  const entry = new URL('./picture-child.ts', import.meta.url)
  const { owner, signal } = options
  const limits = { owner, signal, kind: 'moderation', time_limit_seconds: PICTURE_SECONDS } as const
  const { pictures, animation } = await runChild<PictureReply>(entry, task, limits)
  if (animation === null) return pictures
  // Spread over time, at a matching frame rate: otherwise FFmpeg would repeat a frame that is shown for long.
  const chosen = animation.map((number) => `eq(n\\,${number})`).join('+')
  const filter = `select=${chosen},setpts=N*${FAR_SECONDS}/TB,${fitting(FRAME_EDGE)}`
  const frames = await extractFrames(path, { filter, max: animation.length, rate: `1/${FAR_SECONDS}` }, options)
  if (frames.length < animation.length)
    throw new ProbeError('unreadable', 'The picture has fewer frames than it announces.')
  return [...pictures, ...frames]
}

function fitting(edge: number): string {
  return `scale=w='min(${edge},iw)':h='min(${edge},ih)':force_original_aspect_ratio=decrease`
}

async function extractFrames(
  path: string,
  wanted: { filter: string; max: number; rate?: string; demuxer?: string | null },
  { owner, work_dir, signal }: FrameOptions,
): Promise<Uint8Array[]> {
  return await withScratch(work_dir, async (dir) => {
    const names = Array.from({ length: wanted.max }, (_, index) => `frame-${index + 1}.jpg`)
    const rate = wanted.rate === undefined ? [] : ['-r', wanted.rate]
    const written = await runFfmpeg(
      {
        inputs: { clip: path },
        // Without `-xerror` a frame that cannot be decoded is left out, or made up from its neighbors.
        args: ['-xerror', ...decodeAll(wanted.demuxer ?? null), '-i', 'clip']
          .concat(['-map', '0:V:0', '-an', '-vf', wanted.filter, ...rate])
          .concat(['-frames:v', String(wanted.max), '-q:v', '4', ...FIXED_TABLES])
          .concat('frame-%d.jpg'),
        outputs: Object.fromEntries(names.map((name) => [name, join(dir, name)])),
        allow_missing: true,
      },
      { owner, signal, kind: 'moderation', time_limit_seconds: SAMPLE_SECONDS, work_dir: dir },
    )
    return await Promise.all(written.map(async (name) => new Uint8Array(await readFile(join(dir, name)))))
  })
}
