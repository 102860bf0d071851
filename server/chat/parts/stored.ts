import type { Readable } from 'node:stream'
import type { Context } from '../../context.ts'
import type { ChatPart } from '../../engines/chat/contract.ts'
import { signFileUrl } from '../../files/sign.ts'
import { type FileRow, findFiles } from '../../files/store/files.ts'
import { ProbeError, probeFile } from '../../media/probe/probe.ts'
import { acceptedType } from '../../media/probe/recognize.ts'
import { BlobMissing } from '../../platform/blobs/blobs.ts'
import { ApiError } from '../../platform/errors.ts'
import { IMAGE_PROBLEMS, mediaPart, partsOfContent } from './content.ts'
import { tooLarge } from './inline.ts'
import {
  type Budget,
  BYTES_MAX,
  gone,
  type PartKind,
  type PartSource,
  type PartWork,
  refuse,
  requireCapability,
  spendBudget,
} from './source.ts'

type Stored = PartSource & { from: 'file_id' }

/**
 * The files of a request, in one query, once there is room for their bytes. Throws ApiError 400 for the first that is unknown, another organization's or expired (the same error
 * for all three), that the model does not accept, or that is too large.
 */
export async function findStored(
  ctx: Context,
  work: PartWork & { budget: Budget },
  sources: readonly Stored[],
): Promise<Map<string, FileRow>> {
  const ids = sources.map(({ file_id }) => file_id)
  const files = await findFiles(ctx.db, { org_id: work.org_id, ids, now: ctx.clock.now() })
  let bytes = 0
  for (const source of sources) {
    const file = files.get(source.file_id)
    if (!file && source.of_history) continue
    if (!file) throw noSuchFile(source)
    const kind = storedKind(file)
    requireCapability(work.model, source, kind)
    requirePurpose(source, file)
    if (isSentAsUrl(work, kind)) continue
    if (file.size_bytes > BYTES_MAX[kind])
      throw refuse(source, `it is larger than ${BYTES_MAX[kind]} bytes. Upload a smaller one.`)
    spendBudget(work.budget, source, { bytes: file.size_bytes })
    bytes += file.size_bytes
  }
  await work.lease.add(bytes)
  return files
}

/** The parts of a stored file: a signed URL if the engine fetches files, its bytes otherwise. Throws ApiError 400. */
export async function partsOfStored(
  ctx: Context,
  work: PartWork & { budget: Budget; signal: AbortSignal },
  source: Stored,
  file: FileRow | undefined,
): Promise<ChatPart[]> {
  if (!file) throw noSuchFile(source)
  const kind = storedKind(file)
  if (isSentAsUrl(work, kind)) {
    if (kind === 'image' && file.probe === null) await requireIntactImage(ctx, source, file, work.org_id)
    return [mediaPart(kind, signedUrl(ctx, file), source)]
  }
  const bytes = await readBlob(ctx, source, file)
  return partsOfContent(source, { bytes, filename: file.filename }, work)
}

function requirePurpose(source: Stored, { purpose }: FileRow): void {
  const { purposes, param } = source
  if (!purposes || purposes.includes(purpose)) return
  const accepted = purposes.map((each) => `'${each}'`).join(', ')
  const text = `Invalid '${param}': the file was uploaded with purpose '${purpose}'. Upload it with one of: ${accepted}.`
  throw new ApiError('invalid_file_purpose', text, { param })
}

/** By the bytes at upload. What is neither media nor a PDF must turn out to be text. */
function storedKind({ media_type }: FileRow): PartKind {
  return acceptedType(media_type).family ?? (media_type === 'application/pdf' ? 'pdf' : 'text')
}

function isSentAsUrl(work: PartWork, kind: PartKind): kind is 'image' | 'video' | 'audio' {
  return work.engine.inputs === 'url' && kind !== 'pdf' && kind !== 'text'
}

function signedUrl(ctx: Context, file: FileRow): string {
  const { secret, config, site, clock } = ctx
  const ttl_seconds = config.signed_url_ttl_seconds
  return signFileUrl({ secret, base_url: site.engine_url, file, now: clock.now(), ttl_seconds })
}

/** Images uploaded as documents were not probed at upload. */
async function requireIntactImage(ctx: Context, source: Stored, file: FileRow, owner: string): Promise<void> {
  if (file.size_bytes > BYTES_MAX.image) throw refuse(source, tooLarge(BYTES_MAX.image))
  try {
    await ctx.blobs.withLocalFile(file.blob_key, (path) => probeFile(path, 'image', { owner }))
  } catch (error) {
    if (error instanceof BlobMissing) throw noSuchFile(source)
    if (!(error instanceof ProbeError)) throw error
    throw refuse(source, IMAGE_PROBLEMS[error.fault] ?? 'the image is damaged or incomplete. Export it again.')
  }
}

async function readBlob(ctx: Context, source: Stored, file: FileRow): Promise<Buffer> {
  try {
    const stream: Readable = await ctx.blobs.open(file.blob_key)
    const chunks: Uint8Array[] = []
    for await (const chunk of stream) chunks.push(chunk as Uint8Array)
    return Buffer.concat(chunks)
  } catch (error) {
    throw error instanceof BlobMissing ? noSuchFile(source) : error
  }
}

function noSuchFile(source: Stored) {
  return gone(source, `no such file '${source.file_id.slice(0, 64)}'. Check the id; files expire 30 days after upload.`)
}
