import { createReadStream } from 'node:fs'
import { requireWithinPlan } from '../billing/storage/gate.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { withEngineCopy } from '../media/engine-copy.ts'
import { ProbeError, type ProbeResult, type UploadFacts, uploadFacts } from '../media/probe/probe.ts'
import { type RecognizedType, recognizeType } from '../media/probe/recognize.ts'
import { DiskFull, type StagedBlob } from '../platform/blobs/blobs.ts'
import { removeUnneeded } from '../platform/blobs/remove.ts'
import { addSeconds } from '../platform/clock.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { cleanFilename } from './filename.ts'
import { familyOfPurpose, type Purpose, requireFitting } from './purposes.ts'
import { FILE_SECONDS_MAX } from './schema.ts'
import { type EngineCopy, type FileRow, insertFile } from './store/files.ts'
import { diskFull, FILE_BYTES_MAX, type Upload } from './upload.ts'

/**
 * Turns a received upload into a file of the caller's organization: inspected, kept, recorded, in this order. Consumes `staged`;
 * nothing is kept when it throws. `signal` ends the inspection. Throws ApiError `invalid_file` for bytes that do not fit the purpose,
 * `storage_limit_exceeded`.
 */
export async function createFile(
  ctx: Context,
  principal: Principal,
  upload: Upload,
  signal?: AbortSignal,
): Promise<FileRow> {
  const { staged, fields } = upload
  const { media_type, probe, copy } = await inspect(ctx, upload, { owner: principal.org_id, signal }).catch(
    async (error) => {
      await ctx.blobs.discard(staged)
      throw error
    },
  )
  const { blob_key, engine_copy } = await publish(ctx, staged, copy)
  const created_at = ctx.clock.now()
  const file: FileRow = {
    id: newId('file', created_at),
    org_id: principal.org_id,
    user_id: principal.user_id,
    purpose: fields.purpose,
    filename: cleanFilename(upload.filename),
    media_type,
    size_bytes: staged.size_bytes,
    sha256: staged.sha256,
    blob_key,
    probe,
    engine_copy,
    created_at,
    expires_at: addSeconds(created_at, fields['expires_after[seconds]'] ?? FILE_SECONDS_MAX),
  }
  await storeFile(ctx, principal, file).catch(async (error) => {
    // A connection lost at commit leaves open whether there is a row: then the sweep of unknown blobs decides.
    if (!isDatabaseDown(error))
      await removeUnneeded(ctx.blobs, [blob_key, ...(engine_copy ? [engine_copy.blob_key] : [])])
    throw error
  })
  return file
}

/** Checks the limit in the transaction that inserts, so that concurrent uploads cannot exceed it together. */
async function storeFile(ctx: Context, principal: Principal, file: FileRow): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await insertFile(tx, file)
    await requireWithinPlan(tx, ctx.config, principal)
  })
}

type StagedCopy = { staged: StagedBlob; media_type: string }
type Facts = { media_type: string; probe: ProbeResult | null; copy: StagedCopy | null }

async function publish(
  ctx: Context,
  staged: StagedBlob,
  copy: StagedCopy | null,
): Promise<{ blob_key: string; engine_copy: EngineCopy | null }> {
  const published: string[] = []
  try {
    published.push(await ctx.blobs.publish(staged))
    if (copy) published.push(await ctx.blobs.publish(copy.staged))
  } catch (error) {
    if (copy) await ctx.blobs.discard(copy.staged)
    await removeUnneeded(ctx.blobs, published)
    throw error instanceof DiskFull ? diskFull(error) : error
  }
  const [blob_key, copy_key] = published
  if (!copy) return { blob_key: blob_key!, engine_copy: null }
  const { media_type, staged: bytes } = copy
  const { sha256, size_bytes } = bytes
  return { blob_key: blob_key!, engine_copy: { blob_key: copy_key!, media_type, sha256, size_bytes } }
}

type Inspection = { owner: string; signal: AbortSignal | undefined }

function inspect(ctx: Context, { staged, fields }: Upload, inspection: Inspection): Promise<Facts> {
  return ctx.blobs.withLocalFile(staged, async (path) => {
    const facts = await factsOf(path, { purpose: fields.purpose, type: await recognizeType(path), ...inspection })
    requireFitting(fields.purpose, facts)
    const { media_type, picture: probe } = facts
    return { media_type, probe, copy: await copyOf(ctx, path, facts, inspection) }
  })
}

type MaybeFacts = RecognizedType & Pick<UploadFacts, 'picture' | 'copy_because'>

/** Documents, and what is no medium of its purpose's family, are known by their first bytes alone. */
async function factsOf(
  path: string,
  { purpose, type, owner, signal }: { purpose: Purpose; type: RecognizedType } & Inspection,
): Promise<MaybeFacts> {
  const unread = { ...type, picture: null, copy_because: [] }
  const kind = familyOfPurpose(purpose)
  if (kind === null || type.family === null || (kind === 'image') !== (type.family === 'image')) return unread
  try {
    return await uploadFacts(path, { media_type: type.media_type, kind, owner, signal })
  } catch (error) {
    if (!(error instanceof ProbeError)) throw error
    // Chat models may take what our own reader cannot; a video job says what is wrong with it.
    if (kind !== 'image') return unread
    throw new ApiError('invalid_file', `Invalid file: ${REMEDIES[error.fault] ?? error.message}`, { param: 'file' })
  }
}

/** The copy for video engines, staged, where they cannot be sent the upload. Without one, a job judges all that the upload holds. */
async function copyOf(
  ctx: Context,
  path: string,
  facts: MaybeFacts,
  { owner, signal }: Inspection,
): Promise<StagedCopy | null> {
  const { media_type, family, copy_because } = facts
  if (copy_because.length === 0 || family === null) return null
  const detail = copy_because.join(', ')
  try {
    const staged = await withEngineCopy(
      path,
      { media_type, family },
      { owner, signal, work_dir: ctx.work_dir },
      (copy) => ctx.blobs.stage(createReadStream(copy), { max_bytes: FILE_BYTES_MAX }),
    )
    ctx.log.debug('engine_copy_made', { org_id: owner, detail })
    return { staged, media_type }
  } catch (error) {
    if (error instanceof DiskFull) throw diskFull(error)
    signal?.throwIfAborted()
    ctx.log.warn('engine_copy_failed', { org_id: owner, detail, error })
    return null
  }
}

const REMEDIES: Partial<Record<ProbeError['fault'], string>> = {
  too_large: 'the picture has more than 50 megapixels. Send a smaller one.',
  unreadable: 'the picture is damaged or incomplete: it cannot be decoded to its end. Export it again.',
  time_limit: 'the picture took too much processor time to inspect. Export it again.',
}
