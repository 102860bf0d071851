import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { createFile } from '../../files/create.ts'
import { removeBlobs } from '../../files/retention.ts'
import { deleteFile } from '../../files/store/files.ts'
import { diskFull } from '../../files/upload.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { type Blobs, BlobTooLarge, DiskFull, type StagedBlob } from '../../platform/blobs/blobs.ts'
import { ApiError } from '../../platform/errors.ts'

/** A picture that came in the form of a job: the first frame, as OpenAI's clients send it. It becomes a file when the job is accepted. */
export type Frame = { staged: StagedBlob; filename: string | undefined }

/** One byte less than 30 MiB, as for every frame. Source: contract 5.1. */
export const FRAME_BYTES_MAX = 31_457_279

/** How many bytes the picture of a form has at most. */
export function declaredFrameBytes({ headers }: FastifyRequest): number {
  return Math.min(Number(headers['content-length'] ?? FRAME_BYTES_MAX), FRAME_BYTES_MAX)
}

/** Writes the picture aside; the caller discards it. Throws ApiError 400 for one that is too large, 503 when the disk is full. */
export async function stageFrame(blobs: Blobs, part: MultipartFile): Promise<Frame> {
  try {
    const staged = await blobs.stage(part.file, { max_bytes: FRAME_BYTES_MAX })
    return { staged, filename: part.filename }
  } catch (error) {
    if (error instanceof DiskFull) throw diskFull(error)
    if (!(error instanceof BlobTooLarge)) throw error
    const text = `Invalid 'input_reference': the picture has more than ${FRAME_BYTES_MAX} bytes. Send a smaller one.`
    throw new ApiError('invalid_file', text, { param: 'input_reference' })
  }
}

/** Runs `use` with the id of the file that the picture becomes. Nothing is left of the file when it throws. `signal` ends the inspection. */
export async function withFrameFile<T>(
  ctx: Context,
  principal: Principal,
  { staged, filename, signal }: Frame & { signal: AbortSignal },
  use: (file_id: string) => Promise<T>,
): Promise<T> {
  const upload = { staged, filename, fields: { purpose: 'vision' as const } }
  const { id } = await createFile(ctx, principal, upload, signal).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.param !== 'file') throw error
    throw new ApiError(error.code, error.message, { param: 'input_reference' })
  })
  try {
    return await use(id)
  } catch (error) {
    const { org_id } = principal
    await removeBlobs(ctx, await deleteFile(ctx.db, { org_id, id, now: ctx.clock.now() }))
    throw error
  }
}
