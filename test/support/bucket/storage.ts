import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Blobs } from '../../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import type { S3Options } from '../../../server/platform/blobs/s3/bucket.ts'

// Nearly every test file reads this one, and few of them need a bucket, whose client and server take a third as long to read as the service.
const readBucket = () => import('./bucket.ts')
const buckets = new Map<string, Promise<S3Options>>()

/**
 * The blobs of a service on `dir`: on disk below it, or with `KINORA_TEST_STORAGE=s3` in a bucket of its own, the same one for every
 * service on that directory, unless `on_disk`. `proxied`: as for `diskBlobs`.
 */
export async function testBlobs(
  dir: string,
  { on_disk = false, proxied = false }: { on_disk?: boolean | undefined; proxied?: boolean } = {},
): Promise<Blobs> {
  if (on_disk || process.env.KINORA_TEST_STORAGE !== 's3') return diskBlobs(join(dir, 'blobs'), { proxied })
  const made = buckets.get(dir) ?? readBucket().then(({ testBucket }) => testBucket())
  buckets.set(dir, made)
  const { s3Blobs } = await import('../../../server/platform/blobs/s3/s3.ts')
  return s3Blobs(await made, { staging_dir: join(dir, 'blobs', 'staging') })
}

/** Adds a byte to a blob of `testBlobs`, behind the back of the service. */
export async function damageBlob(dir: string, key: string): Promise<void> {
  const made = await buckets.get(dir)
  if (!made) return appendFileSync(join(dir, 'blobs', key.slice(0, 2), key), 'x')
  await damageObject(made, key)
}

/** The same in a bucket: the object keeps the sha256 of what was written. */
export async function damageObject(made: S3Options, key: string): Promise<void> {
  const [{ bucketClient }, sdk] = await Promise.all([readBucket(), import('@aws-sdk/client-s3')])
  const client = bucketClient(made)
  const object = { Bucket: made.bucket, Key: `${made.prefix}blobs/${key}` }
  const { Body, Metadata } = await client.send(new sdk.GetObjectCommand(object))
  const bytes = Buffer.concat([await Body!.transformToByteArray(), Buffer.from('x')])
  await client.send(new sdk.PutObjectCommand({ ...object, Body: bytes, Metadata }))
  client.destroy()
}
