import { join } from 'node:path'
import type { Size } from '../aspect.ts'
import { ChildError, runChild } from '../children/run.ts'
import { chooseRunner, FfmpegError } from '../ffmpeg/choose.ts'
import { ProbeError, probeFile } from '../probe/probe.ts'
import type { VariantsTask } from './variants-child.ts'

/** Pixels of the shorter edge of a thumbnail, and of one cell of a spritesheet. Source: docs/api/videos.md, content. */
const THUMBNAIL_EDGE = 360
const CELL_EDGE = 180
const COLUMNS = 4

/** A clip of 15 s takes some three seconds of one core. */
const MAKE_SECONDS = 120

type VariantsOptions = {
  /** Length ordered: the spritesheet has one cell for each second of it. */
  seconds: number
  /** Empty directory for the two files. */
  dir: string
  owner?: string | undefined
  signal?: AbortSignal | undefined
}

/** Paths of the two files. */
export type VariantFiles = { thumbnail: string; spritesheet: string }

/**
 * Draws two pictures of a clip in one pass over it: a WebP of the frame in the middle, by whole seconds, and a JPEG of the frames at
 * 0, 1, 2 … seconds, four in a row. Where the clip is shorter than `seconds`, its last frame is repeated; what cannot be decoded is skipped.
 * Throws ProbeError, FfmpegError, ChildrenBusy or the signal's reason.
 */
export async function makeVariants(
  clip: string,
  { seconds, dir, owner, signal }: VariantsOptions,
): Promise<VariantFiles> {
  const { width, height } = await probeFile(clip, 'video', { owner, signal })
  if (!width || !height) throw new ProbeError('unreadable', 'The clip has no picture.')
  const files = { thumbnail: join(dir, 'thumbnail.webp'), spritesheet: join(dir, 'spritesheet.jpg') }
  const sizes = {
    frame: withShortEdge({ width, height }, THUMBNAIL_EDGE),
    cell: withShortEdge({ width, height }, CELL_EDGE),
  }
  const task: VariantsTask = { clip, dir, seconds, columns: COLUMNS, ...sizes, ...files, runner: await chooseRunner() }
  try {
    await runChild<null>(new URL('./variants-child.ts', import.meta.url), task, {
      owner,
      signal,
      kind: 'variant',
      time_limit_seconds: MAKE_SECONDS,
      reuse: task.runner.kind === 'wasm',
    })
    return files
  } catch (error) {
    throw error instanceof ChildError ? new FfmpegError(error.fault, error.message, error.log) : error
  }
}

function withShortEdge({ width, height }: Size, edge: number): Size {
  const scale = edge / Math.min(width, height)
  return { width: Math.round(width * scale), height: Math.round(height * scale) }
}
