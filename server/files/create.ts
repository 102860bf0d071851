import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { ProbeError, type ProbeResult, probeFile } from '../media/probe/probe.ts'
import { type RecognizedType, recognizeType } from '../media/probe/recognize.ts'
import { DiskFull } from '../platform/blobs/blobs.ts'
import { removeUnneeded } from '../platform/blobs/remove.ts'
import { addSeconds } from '../platform/clock.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { cleanFilename } from './filename.ts'
import { type Purpose, requireFitting } from './purposes.ts'
import { FILE_SECONDS_MAX } from './schema.ts'
import { type FileRow, insertFile } from './store/files.ts'
import { diskFull, type Upload } from './upload.ts'

/**
 * Turns a received upload into a file of the caller's organization: inspected, kept, recorded, in this order. Consumes `staged`;
 * nothing is kept when it throws. Throws ApiError `invalid_file` for bytes that do not fit the purpose.
 */
export async function createFile(ctx: Context, principal: Principal, upload: Upload): Promise<FileRow> {
  const { staged, fields } = upload
  const { media_type, probe } = await inspect(ctx, upload, principal.org_id).catch(async (error) => {
    await ctx.blobs.discard(staged)
    throw error
  })
  const blob_key = await ctx.blobs.publish(staged).catch((error) => {
    throw error instanceof DiskFull ? diskFull(error) : error
  })
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
    created_at,
    expires_at: addSeconds(created_at, fields['expires_after[seconds]'] ?? FILE_SECONDS_MAX),
  }
  await insertFile(ctx.db, file).catch(async (error) => {
    // A connection lost at commit leaves open whether there is a row: then the sweep of unknown blobs decides.
    if (!isDatabaseDown(error)) await removeUnneeded(ctx.blobs, [blob_key])
    throw error
  })
  return file
}

type Facts = { media_type: string; probe: ProbeResult | null }

function inspect(ctx: Context, { staged, fields }: Upload, owner: string): Promise<Facts> {
  return ctx.blobs.withLocalFile(staged, async (path) => {
    const type = await recognizeType(path)
    requireFitting(fields.purpose, type)
    return { media_type: type.media_type, probe: await probeImage(path, { purpose: fields.purpose, type, owner }) }
  })
}

/** Reads the header of a picture; that is enough to detect a pixel bomb. */
async function probeImage(
  path: string,
  { purpose, type, owner }: { purpose: Purpose; type: RecognizedType; owner: string },
): Promise<ProbeResult | null> {
  if (purpose !== 'vision' || type.family !== 'image') return null
  try {
    return await probeFile(path, 'image', { owner })
  } catch (error) {
    if (!(error instanceof ProbeError)) throw error
    throw new ApiError('invalid_file', `Invalid file: ${REMEDIES[error.fault] ?? error.message}`, { param: 'file' })
  }
}

const REMEDIES: Partial<Record<ProbeError['fault'], string>> = {
  too_large: 'the picture has more than 50 megapixels. Send a smaller one.',
  unreadable: 'the picture is damaged or incomplete. Export it again.',
  time_limit: 'the picture took too long to inspect. Export it again.',
}
