import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Context } from '../context.ts'
import type { InputRole } from '../engines/video/contract.ts'
import { findFiles, type StoredFile, sentFile } from '../files/store/files.ts'
import { findPinnedFiles } from '../files/store/pins.ts'
import { type ProbeResult, probeMedia } from '../media/probe/probe.ts'
import type { MediaFamily } from '../media/probe/recognize.ts'
import { BlobMissing, BlobsAway } from '../platform/blobs/blobs.ts'
import { requireLength, SENT_SECONDS_MAX } from './input-problem.ts'
import type { VideoJobRow } from './store.ts'

/** A file of a job, as engines are sent it. */
export type JobFile = { role: InputRole; file: StoredFile }

const FAMILIES: Record<InputRole, MediaFamily> = {
  first_frame: 'image',
  last_frame: 'image',
  reference_image: 'image',
  reference_video: 'video',
  reference_audio: 'audio',
}

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
    const present = files.get(file_id)
    const file = present ? sentFile(present) : pinned.get(file_id)
    if (!file || file.sha256 !== sha256) return null
    found.push({ role, file })
  }
  return found
}

/**
 * Runs `use` on a local copy after comparing its hash with the one that was stored. Null when the bytes are gone or changed: the engine gets
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
 * Null when the bytes are gone or changed. Throws ProbeError or InputProblem for media that cannot be used.
 */
export async function probeInput(
  ctx: Pick<Context, 'blobs'>,
  { role, file }: JobFile,
  options: { owner: string },
): Promise<ProbeResult | null> {
  const family = familyOf(role)
  const probed = await withVerifiedFile(ctx, file, (path) => probeMedia(path, family, options))
  if (!probed || family === 'image') return probed?.result ?? null
  const { result, spans } = probed
  requireLength(family === 'video' ? [...spans.video, ...spans.audio] : spans.audio)
  return { ...result, duration_seconds: Math.min(SENT_SECONDS_MAX, result.duration_seconds ?? 0) }
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
