/// <reference path="./s3rver.d.ts" />
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import type { Blobs } from '../../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import { clientOptions, type S3Options } from '../../../server/platform/blobs/s3/bucket.ts'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'

/** What s3rver knows as the one account it has. */
const ACCOUNT = 'S3RVER:S3RVER'

/**
 * A new bucket on a real S3 server: that of `KINORA_TEST_S3` (`http://<access key>:<secret>@<host>:<port>`), which many processes may share,
 * else one that this process starts at the first call.
 */
export async function testBucket(options: Partial<S3Options> = {}): Promise<S3Options & { kind: 's3' }> {
  const server = new URL(process.env.KINORA_TEST_S3 ?? (await ownServer()))
  const made = {
    kind: 's3' as const,
    endpoint: server.origin,
    region: 'us-east-1',
    bucket: `kinora-${randomBytes(8).toString('hex')}`,
    prefix: '',
    credentials: { access_key_id: server.username, secret_access_key: decodeURIComponent(server.password) },
    force_path_style: true,
    presigned: false,
    presigned_endpoint: null,
    ...options,
  }
  const client = bucketClient(made)
  await client.send(new CreateBucketCommand({ Bucket: made.bucket }))
  client.destroy()
  return made
}

const buckets = new Map<string, Promise<S3Options>>()

/**
 * The blobs of a service on `dir`: on disk below it, or with `KINORA_TEST_STORAGE=s3` in a bucket of its own, the same one for every
 * service on that directory.
 */
export async function testBlobs(dir: string): Promise<Blobs> {
  if (process.env.KINORA_TEST_STORAGE !== 's3') return diskBlobs(join(dir, 'blobs'))
  const made = buckets.get(dir) ?? testBucket()
  buckets.set(dir, made)
  return s3Blobs(await made, { staging_dir: join(dir, 'blobs', 'staging') })
}

/** Adds a byte to a blob of `testBlobs`, behind the back of the service. */
export async function damageBlob(dir: string, key: string): Promise<void> {
  const made = await buckets.get(dir)
  if (!made) return appendFileSync(join(dir, 'blobs', key.slice(0, 2), key), 'x')
  const client = bucketClient(made)
  const object = { Bucket: made.bucket, Key: `${made.prefix}blobs/${key}` }
  const { Body, Metadata } = await client.send(new GetObjectCommand(object))
  const bytes = Buffer.concat([await Body!.transformToByteArray(), Buffer.from('x')])
  await client.send(new PutObjectCommand({ ...object, Body: bytes, Metadata }))
  client.destroy()
}

/** A client past ours, for what tests look into. */
export function bucketClient(options: S3Options): S3Client {
  return new S3Client(clientOptions(options))
}

let own: Promise<string> | null = null
function ownServer(): Promise<string> {
  own ??= startS3Server().then(({ url, server }) => {
    // It ends with the process.
    server.unref()
    return url
  })
  return own
}

/** Starts an S3 server on a free port; `url` is what `KINORA_TEST_S3` takes. @public */
export async function startS3Server(): Promise<{ url: string; server: Server; close(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'kinora-s3-'))
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  process.once('exit', remove)
  const s3 = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory })
  const { port } = (await s3.run()) as AddressInfo
  return {
    url: `http://${ACCOUNT}@127.0.0.1:${port}`,
    server: s3.httpServer,
    async close() {
      await s3.close()
      process.off('exit', remove)
      remove()
    },
  }
}
