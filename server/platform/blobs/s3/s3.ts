import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { StartError } from '../../start-error.ts'
import { type BlobMark, BlobMissing, type Blobs, type ByteRange, type StagedBlob } from '../blobs.ts'
import { parseMark } from '../mark.ts'
import type { MeasureCall } from '../metrics.ts'
import { checkedName, missing, newName, openStaging, type Staging } from '../staging.ts'
import { writeFully } from '../write-fully.ts'
import { type Bucket, MARK, openBucket, type S3Options, type Timeouts } from './bucket.ts'
import { openPresigner } from './presign.ts'
import { readObject } from './read.ts'
import { listObjects, sweepUploads } from './sweep.ts'
import { uploadFile } from './upload.ts'

/**
 * Blobs as objects of a bucket. What is staged, and what a child process reads, is a file of `staging_dir` meanwhile.
 * Source: docs/operating/buckets.md.
 */
export function s3Blobs(
  options: S3Options,
  { staging_dir, ...calls }: { staging_dir: string; timeouts?: Partial<Timeouts>; measure?: MeasureCall | undefined },
): Blobs {
  const bucket = openBucket(options, calls)
  const staging = openStaging(staging_dir)
  const presign = options.presigned ? openPresigner(options) : null
  const publish = (staged: StagedBlob, key?: string) => publishFrom({ bucket, staging }, staged, key ?? newName())
  return {
    stage: staging.stage,
    publish,
    discard: ({ temp }) => staging.discard(temp),
    async write(source, limits) {
      const staged = await staging.stage(source, limits)
      const { sha256, size_bytes } = staged
      return { key: await publish(staged), sha256, size_bytes }
    },

    async open(key, range) {
      const reader = await readObject(bucket, objectOf(bucket, key), range ?? null)
      const stream = Readable.from(reader.chunks, { objectMode: false })
      const destroy = stream._destroy.bind(stream)
      // Without it, a stream that is destroyed while it waits for a chunk would wait on.
      stream._destroy = (error, done) => {
        reader.close()
        destroy(error, done)
      }
      return stream
    },
    send: (key, range, out) => send(bucket, objectOf(bucket, key), range, out),
    proxyPath: null,
    presignedUrl: presign && (async (key, answer) => presign(objectOf(bucket, key), answer)),
    size: async (key) => (await findObject(bucket, objectOf(bucket, key))).size_bytes,
    async withLocalFile(blob, use) {
      if (typeof blob !== 'string') {
        await stat(staging.path(blob.temp)).catch(missing)
        return use(staging.path(blob.temp))
      }
      const reader = await readObject(bucket, objectOf(bucket, blob), null)
      const copy = await staging.stage(reader.chunks, { max_bytes: Number.POSITIVE_INFINITY })
      try {
        return await use(staging.path(copy.temp))
      } finally {
        await staging.discard(copy.temp)
      }
    },

    remove: async (key) => removeObject(bucket, objectOf(bucket, key)),
    list: ({ older_than }) => listObjects(bucket, `${bucket.prefix}${BLOBS}`, older_than),
    async sweepStaged({ older_than }) {
      const swept = await staging.sweep(older_than)
      return swept + (await sweepUploads(bucket, `${bucket.prefix}${BLOBS}`, older_than))
    },
    // Without a mark, the server has still named it as what is missing: the bucket exists.
    check: async () => void (await readMark(bucket)),

    also_reads: false,
    mark: () => readMark(bucket),
    setMark: (mark) => writeMark(bucket, mark),
  }
}

const BLOBS = 'blobs/'

function objectOf(bucket: Bucket, key: string): string {
  return `${bucket.prefix}${BLOBS}${checkedName(key)}`
}

/** The staged file is gone afterwards, kept or not. */
async function publishFrom(
  { bucket, staging }: { bucket: Bucket; staging: Staging },
  { temp, sha256, size_bytes }: StagedBlob,
  key: string,
): Promise<string> {
  const path = staging.path(temp)
  await stat(path)
  const object = objectOf(bucket, key)
  try {
    await uploadFile(bucket, object, { path, sha256, size_bytes })
    return key
  } finally {
    await staging.discard(temp)
  }
}

async function send(bucket: Bucket, object: string, range: ByteRange | null, out: Writable): Promise<void> {
  const { chunks, close } = await readObject(bucket, object, range)
  // A read that waits for the bucket ends too when nobody waits for it.
  out.once('close', close)
  try {
    for await (const chunk of chunks) await writeFully(out, chunk)
    if (out.destroyed) throw new Error('the reader went away')
  } finally {
    out.off('close', close)
    close()
  }
}

/** A 404 to HEAD has no body that says whether the object or its bucket is missing: the answer to GET decides. */
async function findObject(bucket: Bucket, object: string): Promise<{ size_bytes: number }> {
  const found = await headObject(bucket, object)
  if (found) return found
  const { size_bytes, close } = await readObject(bucket, object, null)
  close()
  return { size_bytes }
}

async function headObject(bucket: Bucket, object: string): Promise<{ size_bytes: number } | null> {
  return bucket.call('HeadObject', ({ sdk, client, timeout }) =>
    client.send(new sdk.HeadObjectCommand({ Bucket: bucket.name, Key: object }), timeout).then(
      ({ ContentLength }) => ({ size_bytes: ContentLength ?? 0 }),
      (error: { $metadata?: { httpStatusCode?: number } }) => {
        if (error.$metadata?.httpStatusCode === 404) return null
        throw error
      },
    ),
  )
}

async function removeObject(bucket: Bucket, object: string): Promise<boolean> {
  const found = await findObject(bucket, object).catch(nullIfMissing)
  if (!found) return false
  return bucket.call('DeleteObject', ({ sdk, client, timeout }) =>
    client.send(new sdk.DeleteObjectCommand({ Bucket: bucket.name, Key: object }), timeout).then(
      () => true,
      (error: Error) => {
        // Another process has removed it since. Most servers do not say so.
        if (error.name === 'NoSuchKey') return false
        throw error
      },
    ),
  )
}

async function readMark(bucket: Bucket): Promise<BlobMark | null> {
  const text = await readText(bucket, `${bucket.prefix}${MARK}`).catch(nullIfMissing)
  if (text === null) return null
  const mark = parseMark(text)
  if (mark) return mark
  const remedy = "Restore it from a backup, or run 'kinora admin database adopt'."
  throw new StartError(`The object ${bucket.prefix}${MARK} of the bucket cannot be read. ${remedy}`)
}

async function readText(bucket: Bucket, object: string): Promise<string> {
  const { chunks } = await readObject(bucket, object, null)
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts).toString()
}

/** An object is replaced as a whole or not at all. */
async function writeMark(bucket: Bucket, mark: BlobMark): Promise<void> {
  const Body = Buffer.from(`${JSON.stringify(mark)}\n`)
  const Metadata = { sha256: createHash('sha256').update(Body).digest('hex') }
  await bucket.call('PutObject', ({ sdk, client, timeout }) =>
    client.send(
      new sdk.PutObjectCommand({ Bucket: bucket.name, Key: `${bucket.prefix}${MARK}`, Body, Metadata }),
      timeout,
    ),
  )
}

function nullIfMissing(error: unknown): null {
  if (error instanceof BlobMissing) return null
  throw error
}
