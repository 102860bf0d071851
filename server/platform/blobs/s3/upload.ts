import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { BlobsAway } from '../blobs.ts'
import type { Bucket } from './bucket.ts'
import { SHA256_METADATA } from './read.ts'

/** In one request up to here, else in parts of this size: two of them are in memory for each upload. The least that S3 takes is 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_A_TIME = 2

/**
 * Stores a staged file as an object. The server checks the sha256 of each request, this end that of the whole: bytes that changed on the
 * way are not kept. An upload that fails is aborted, or swept if that fails too.
 */
export async function uploadFile(
  bucket: Bucket,
  object: string,
  file: { path: string; sha256: string; size_bytes: number },
): Promise<void> {
  const { Upload } = await import('@aws-sdk/lib-storage')
  await bucket.call('Upload', async ({ client }) => {
    const body = Readable.from(unchanged(file), { objectMode: false })
    const upload = new Upload({
      client,
      partSize: PART_BYTES,
      queueSize: PARTS_AT_A_TIME,
      params: {
        Bucket: bucket.name,
        Key: object,
        Body: body,
        ChecksumAlgorithm: 'SHA256',
        ContentType: 'application/octet-stream',
        Metadata: { [SHA256_METADATA]: file.sha256 },
      },
    })
    const timer = setTimeout(() => void upload.abort(), bucket.timeouts.publish_ms)
    try {
      await upload.done()
    } finally {
      clearTimeout(timer)
      body.destroy()
    }
  })
}

async function* unchanged({ path, sha256 }: { path: string; sha256: string }): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    hash.update(chunk as Uint8Array)
    yield chunk as Uint8Array
  }
  if (hash.digest('hex') !== sha256) throw new BlobsAway('Upload: the staged file has changed')
}
