import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import type { InputRole } from '../engines/video/contract.ts'
import { findFiles } from '../files/store/files.ts'
import { findPinnedFiles, type StoredFile } from '../files/store/pins.ts'
import { ChildError } from '../media/children/run.ts'
import { FfmpegError } from '../media/ffmpeg/choose.ts'
import { ProbeError, type ProbeResult, probeFile } from '../media/probe/probe.ts'
import type { MediaFamily } from '../media/probe/recognize.ts'
import { BlobMissing, BlobsAway } from '../platform/blobs/blobs.ts'
import type { VideoJobRow } from './store.ts'

export type JobFile = { role: InputRole; file: StoredFile }

const FAMILIES: Record<InputRole, MediaFamily> = {
  first_frame: 'image',
  last_frame: 'image',
  reference_image: 'image',
  reference_video: 'video',
  reference_audio: 'audio',
}

/** Clips and sounds of 2 to 15 seconds, with a twentieth of a second of tolerance because muxers round. Source: contract 5.1. */
const DURATION_SECONDS = { min: 1.95, max: 15.05 }

export function familyOf(role: InputRole): MediaFamily {
  return FAMILIES[role]
}

/**
 * The job's files in the order given. Null when the content of one differs from when the job was created, or it was deleted or expired
 * before the job was submitted to an engine.
 */
export async function findInputs(ctx: Pick<Context, 'db' | 'clock'>, job: VideoJobRow): Promise<JobFile[] | null> {
  const ids = job.inputs.map(({ file_id }) => file_id)
  const files = await findFiles(ctx.db, { org_id: job.org_id, ids, now: ctx.clock.now() })
  const missing = ids.filter((id) => !files.has(id))
  const pinned = await findPinnedFiles(ctx.db, { holder: job.id, ids: missing })
  const found: JobFile[] = []
  for (const { role, file_id, sha256 } of job.inputs) {
    const file = files.get(file_id) ?? pinned.get(file_id)
    if (!file || file.sha256 !== sha256) return null
    found.push({ role, file })
  }
  return found
}

/**
 * Runs `use` on a local copy after comparing its hash with that of the upload. Null when the bytes are gone or changed: the engine gets
 * what was moderated, or nothing.
 */
export async function withVerifiedFile<T>(
  ctx: Pick<Context, 'blobs'>,
  file: StoredFile,
  use: (path: string) => Promise<T>,
): Promise<T | null> {
  try {
    return await ctx.blobs.withLocalFile(file.blob_key, async (path) =>
      (await sha256Of(path)) === file.sha256 ? use(path) : null,
    )
  } catch (error) {
    if (error instanceof BlobMissing || (error instanceof BlobsAway && error.damaged)) return null
    throw error
  }
}

/**
 * The preflight in front of every engine: bytes unchanged, decodable headers, references of 2 to 15 seconds.
 * Null when the bytes are gone or changed. Throws ProbeError for media that cannot be used.
 */
export async function probeInput(
  ctx: Pick<Context, 'blobs'>,
  { role, file }: JobFile,
  options: { owner: string },
): Promise<ProbeResult | 'bad_duration' | null> {
  const probe = await withVerifiedFile(ctx, file, (path) => probeFile(path, familyOf(role), options))
  if (!probe || probe.kind === 'image') return probe
  const seconds = probe.duration_seconds ?? 0
  return seconds >= DURATION_SECONDS.min && seconds <= DURATION_SECONDS.max ? probe : 'bad_duration'
}

/** Whether the media itself is at fault: unreadable, of another kind, or beyond the limits of the decoders. */
export function isMediaFault(error: unknown): boolean {
  if (error instanceof FfmpegError) return error.fault !== 'unavailable'
  return error instanceof ProbeError || error instanceof ChildError
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
