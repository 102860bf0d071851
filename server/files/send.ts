import type { FastifyReply, FastifyRequest } from 'fastify'
import { BlobMissing, type Blobs } from '../platform/blobs/blobs.ts'
import { type Content, sendBytes } from '../platform/http/send-bytes.ts'
import type { StoredFile } from './store-pins.ts'

/** Answers with the bytes of the file that `find` returns. A file deleted in between ends in the error `find` then throws. */
export async function sendFile(
  blobs: Blobs,
  call: { request: FastifyRequest; reply: FastifyReply; find: () => Promise<StoredFile> } & Pick<
    Content,
    'disposition' | 'headers'
  >,
): Promise<FastifyReply> {
  const { request, reply, find, disposition, headers } = call
  const { blob_key, size_bytes, sha256, media_type, filename } = await find()
  const content: Content = { blob_key, size_bytes, sha256, media_type, filename, disposition, headers }
  try {
    return await sendBytes({ request, reply }, blobs, content)
  } catch (error) {
    if (error instanceof BlobMissing) await find()
    throw error
  }
}
