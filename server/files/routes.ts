import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StorageGate } from '../billing/storage/gate.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { recordDeletion, requireMayDelete } from '../identity/organization/deletions.ts'
import { ACCEPTED_TYPES, withEnding } from '../media/probe/recognize.ts'
import { BlobMissing, type Blobs } from '../platform/blobs/blobs.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { openShares } from '../platform/fair-queue.ts'
import { abortOnLeaving, whileConnected } from '../platform/http/abort-on-disconnect.ts'
import { leaseForReading } from '../platform/http/body/byte-budget.ts'
import { pageOf, positionOf } from '../platform/http/list.ts'
import { type BlobContent, sendBytes } from '../platform/http/send-bytes.ts'
import { isId } from '../platform/ids.ts'
import { sendJson } from '../platform/json/send.ts'
import { hasUnstorableText } from '../platform/text.ts'
import { nextTurn } from '../platform/turns.ts'
import { createFile } from './create.ts'
import { removeBlobs } from './retention.ts'
import { CreateFile, DeletedFile, FILES_PER_PAGE, FileList, FileObject, fileView, ListFiles } from './schema.ts'
import { isSignedFor } from './sign.ts'
import {
  deleteFile,
  type FilePage,
  type FileRow,
  findFile,
  findFileForSignature,
  listFiles,
  type StoredFile,
} from './store/files.ts'
import { findPinnedFiles } from './store/pins.ts'
import { declaredBytes, receiveUpload } from './upload.ts'

/** Where signed URLs lead: they end in a name with the ending of the file's type; those of version 0.1.0 have none. */
export const SIGNED_FILE_PATHS = ['/v1/files/:file_id/signed', '/v1/files/:file_id/signed/:name'] as const

const upload = (storage: StorageGate) =>
  route({
    method: 'POST',
    path: '/v1/files',
    auth: 'api_key_or_session',
    summary: 'Upload a file',
    description:
      'A multipart form with the bytes and a `purpose`. The media type is recognized from the bytes, and the file is deleted when it expires.',
    accepts: ['multipart'],
    body: CreateFile,
    body_check: 'handler',
    response: FileObject,
    errors: ['insufficient_credits', 'storage_limit_exceeded'],
    async handle(ctx, { principal, request }) {
      if (!request.isMultipart())
        throw new ApiError('unsupported_media_type', 'Unsupported Content-Type. Send multipart/form-data.')
      const receiving = await storage.admitUpload(ctx.config, principal, declaredBytes(request))
      try {
        const received = await receiveUpload(ctx.blobs, request)
        return fileView(await whileConnected(request.raw, (signal) => createFile(ctx, principal, received, signal)))
      } finally {
        receiving.end()
      }
    },
  })

/** What one file takes in memory in a list, about: its row, its view and its JSON. */
const VIEW_BYTES = 1500
/** Of a long page, read at once. */
const PIECE = 500
/** Long pages are read by one request of an organization at a time, and few of all. */
const longPageInTurn = openShares({ each: 1, all: 2 })

const list = route({
  method: 'GET',
  path: '/v1/files',
  auth: 'api_key_or_session',
  summary: 'List files',
  description:
    'The files of your organization, newest first unless `order` says otherwise; `purpose` selects some of them.',
  query: ListFiles,
  response: FileList,
  async handle(ctx, { principal, query, reply }) {
    const position = positionOf('file', query, { default: FILES_PER_PAGE })
    const { org_id } = principal
    const bytes = VIEW_BYTES * (position.limit - FILES_PER_PAGE)
    const room = bytes > 0 ? leaseForReading(ctx.budget, org_id, reply).add(bytes) : undefined
    if (room) await room
    const page = { ...position, org_id, purpose: query.purpose ?? null, now: ctx.clock.now() }
    if (page.limit <= PIECE) return pageOf(await listFiles(ctx.db, page), page.limit, fileView)
    const { signal } = abortOnLeaving(reply)
    const files = await longPageInTurn(org_id, () => readPieces(ctx, page, signal), signal)
    return sendJson(
      reply,
      pageOf(files, page.limit, (file) => file),
    )
  },
})

/** The views of one file more than the page holds, as `listFiles`, with other work between its pieces. */
async function readPieces(
  { db }: Context,
  page: FilePage,
  signal: AbortSignal,
): Promise<Array<ReturnType<typeof fileView>>> {
  const files = []
  for (let after = page.after; ; ) {
    const asked = Math.min(PIECE, page.limit + 1 - files.length)
    const rows = await listFiles(db, { ...page, after, limit: asked - 1 })
    files.push(...rows.map(fileView))
    if (rows.length < asked || files.length > page.limit) return files
    after = rows.at(-1)!.id
    await nextTurn(signal)
  }
}

const read = route({
  method: 'GET',
  path: '/v1/files/:file_id',
  auth: 'api_key_or_session',
  summary: 'Read a file',
  description: 'The metadata of one file of your organization, without its bytes.',
  response: FileObject,
  async handle(ctx, { principal, params }) {
    return fileView(await requireFile(ctx, principal.org_id, params.file_id!))
  },
})

const readContent = route({
  method: 'GET',
  path: '/v1/files/:file_id/content',
  auth: 'api_key_or_session',
  summary: 'Download the bytes of a file',
  description:
    'The bytes as they were uploaded, under the media type that was recognized. Byte ranges and `If-None-Match` work.',
  response_type: 'application/octet-stream',
  other_response_types: [...ACCEPTED_TYPES, 'application/pdf'],
  async handle(ctx, { principal, params, request, reply }) {
    const find = () => requireFile(ctx, principal.org_id, params.file_id!)
    return sendFile(ctx.blobs, { request, reply, find, disposition: 'attachment' })
  },
})

const remove = route({
  method: 'DELETE',
  path: '/v1/files/:file_id',
  auth: 'api_key_or_session',
  summary: 'Delete a file',
  description:
    'The file can no longer be referred to. Jobs that have begun keep their own reference to it until they end.',
  response: DeletedFile,
  errors: ['permission_denied'],
  async handle(ctx, { principal, params }) {
    const id = params.file_id!
    await removeBlobs(ctx, await removeFile(ctx, principal, id))
    return { id, object: 'file', deleted: true }
  },
})

/** Where engines fetch references: the signature replaces a credential, and every failure looks the same. */
const readSigned = SIGNED_FILE_PATHS.map((path) =>
  route({
    method: 'GET',
    path,
    auth: 'signed_url',
    summary: 'Download the bytes of a file by a signed URL',
    internal: true,
    response_type: 'application/octet-stream',
    errors: ['invalid_signature'],
    async handle(ctx, { params, request, reply }) {
      const find = async () => {
        const now = ctx.clock.now()
        const query = request.query as Record<string, unknown>
        const file = await findSigned(ctx, { id: params.file_id!, pin: query.pin, now })
        if (file && isSignedFor({ secrets: ctx.secrets, file, method: request.method, query, now })) return file
        throw new ApiError('invalid_signature', 'This link is not valid or no longer valid.')
      }
      const headers = { 'referrer-policy': 'no-referrer' }
      if (request.method === 'GET' && ctx.blobs.presignedUrl) {
        const { blob_key, media_type } = await find()
        const location = await ctx.blobs.presignedUrl(blob_key, { media_type })
        if (location)
          return reply
            .status(307)
            .headers({ ...headers, location, 'cache-control': 'no-store' })
            .send()
      }
      return sendFile(ctx.blobs, { request, reply, find, disposition: 'inline', headers, places: 'engine' })
    },
  }),
)

export function fileRoutes(storage: StorageGate): readonly Route[] {
  return [upload(storage), list, read, readContent, remove, ...readSigned]
}

/** Throws the one 404 for files that are unknown, foreign, expired or not even named like one. */
async function requireFile(ctx: Pick<Context, 'db' | 'clock'>, org_id: string, id: string): Promise<FileRow> {
  const file = isId('file', id) ? await findFile(ctx.db, { org_id, id, now: ctx.clock.now() }) : null
  if (!file) throw notFound('file')
  return file
}

/** Deletes a file and returns the keys of its bytes. Throws ApiError as `requireFile` and `requireMayDelete` do. */
function removeFile(ctx: Context, principal: Principal, id: string): Promise<string[]> {
  const { org_id } = principal
  const now = ctx.clock.now()
  return ctx.db.transaction().execute(async (tx) => {
    const { filename: name, user_id } = await requireFile({ db: tx, clock: ctx.clock }, org_id, id)
    await requireMayDelete(tx, principal, user_id)
    const keys = await deleteFile(tx, { org_id, id, now })
    if (keys.length === 0) throw notFound('file')
    await recordDeletion(tx, principal, { action: 'file.delete', id, name, user_id, now })
    return keys
  })
}

/** The file a signed URL names: one that is pinned for a job while that has not ended, or one that people still have. */
async function findSigned(
  ctx: Context,
  { id, pin, now }: { id: string; pin: unknown; now: Date },
): Promise<StoredFile | null> {
  if (!isId('file', id)) return null
  if (pin === undefined) return findFileForSignature(ctx.db, { id, now })
  if (typeof pin !== 'string' || hasUnstorableText(pin)) return null
  return (await findPinnedFiles(ctx.db, { holder: pin, ids: [id] })).get(id) ?? null
}

/** Answers with the bytes of the file that `find` returns. A file deleted in between ends in the error `find` then throws. */
async function sendFile(
  blobs: Blobs,
  call: { request: FastifyRequest; reply: FastifyReply; find: () => Promise<StoredFile> } & Pick<
    BlobContent,
    'disposition' | 'headers' | 'places'
  >,
): Promise<FastifyReply> {
  const { request, reply, find, ...shown } = call
  const { org_id, blob_key, size_bytes, sha256, media_type, filename } = await find()
  const named = withEnding(filename, media_type)
  const content: BlobContent = { org_id, blob_key, size_bytes, sha256, media_type, filename: named, ...shown }
  try {
    return await sendBytes({ request, reply }, blobs, content)
  } catch (error) {
    if (error instanceof BlobMissing) await find()
    throw error
  }
}
