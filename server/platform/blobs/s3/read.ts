import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BlobsAway, type ByteRange } from '../blobs.ts'
import type { Bucket } from './bucket.ts'

/** Where the sha256 of a blob is kept: among the metadata of its object. */
export const SHA256_METADATA = 'sha256'
/** Interruptions in a row, without a byte between them, after which a read is given up. */
const INTERRUPTIONS_MAX = 3
const RESUME_MS = 200

export type ObjectReader = {
  /** Of the whole object. */
  size_bytes: number
  chunks: AsyncGenerator<Uint8Array, void, void>
  /** Ends a read that waits for the bucket. */
  close(): void
}

/** The answer to one GET: bytes `start` to `end` of `total`. */
type Part = { body: Readable; start: number; end: number; total: number; sha256: string | undefined }

/**
 * Begins to read; a read that is interrupted goes on where it was. The whole of a blob is verified: its last chunk comes only if the
 * sha256 is right. Throws BlobMissing or BlobsAway; so do the chunks.
 */
export async function readObject(bucket: Bucket, object: string, range: ByteRange | null): Promise<ObjectReader> {
  let part = await getPart(bucket, object, range)
  let closed = false
  return {
    size_bytes: part.total,
    chunks: verified(chunks(), part),
    close() {
      closed = true
      part.body.destroy()
    },
  }

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    const { end } = part
    let position = part.start
    let interruptions = 0
    try {
      while (position <= end) {
        for await (const chunk of arriving(part.body, bucket.timeouts.stall_ms)) {
          interruptions = 0
          position += chunk.byteLength
          yield chunk
        }
        if (position > end + 1) throw new BlobsAway('GetObject: more bytes than announced')
        if (position > end) return
        if (closed) throw new BlobsAway('GetObject: the reader went away')
        interruptions += 1
        if (interruptions > INTERRUPTIONS_MAX) throw new BlobsAway('GetObject: interrupted')
        await sleep(RESUME_MS * (interruptions - 1))
        part = await getPart(bucket, object, { start: position, end })
      }
    } finally {
      part.body.destroy()
    }
  }
}

async function getPart(bucket: Bucket, object: string, range: ByteRange | null): Promise<Part> {
  return bucket.call('GetObject', async ({ sdk, client, timeout }) => {
    const { Body, ContentLength, ContentRange, Metadata } = await client.send(
      new sdk.GetObjectCommand({
        Bucket: bucket.name,
        Key: object,
        ...(range && { Range: `bytes=${range.start}-${range.end}` }),
      }),
      timeout,
    )
    const body = Body as Readable
    // Whoever destroys it says why elsewhere.
    body.on('error', () => {})
    const sha256 = Metadata?.[SHA256_METADATA]
    if (range === null && ContentLength !== undefined)
      return { body, start: 0, end: ContentLength - 1, total: ContentLength, sha256 }
    const given = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(ContentRange ?? '')
    const [start, end, total] = (given ?? []).slice(1).map(Number)
    if (range && start === range.start && end! <= range.end) return { body, start, end: end!, total: total!, sha256 }
    body.destroy()
    throw new BlobsAway('GetObject: another range than was asked for')
  })
}

/** The chunks of a body until its end or interruption, whichever it is: the caller counts. */
async function* arriving(body: Readable, stall_ms: number): AsyncGenerator<Uint8Array, void, void> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  for (;;) {
    const timer = setTimeout(() => body.destroy(new Error('stalled')), stall_ms)
    const next = await chunks.next().catch(() => null)
    clearTimeout(timer)
    if (next === null || next.done) return
    yield next.value
  }
}

/** Holds each chunk back until the next has come, and the last until all of them are known to be right. */
async function* verified(
  chunks: AsyncGenerator<Uint8Array, void, void>,
  { start, end, total, sha256 }: Part,
): AsyncGenerator<Uint8Array, void, void> {
  if (sha256 === undefined || start !== 0 || end !== total - 1) return yield* chunks
  const hash = createHash('sha256')
  let held: Uint8Array | null = null
  for await (const chunk of chunks) {
    hash.update(chunk)
    if (held) yield held
    held = chunk
  }
  if (hash.digest('hex') !== sha256)
    throw new BlobsAway('GetObject: the bytes do not have their sha256', { damaged: true })
  if (held) yield held
}
