/// <reference path="./s3rver.d.ts" />
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import { type S3Options, s3ClientOptions } from '../../../server/platform/blobs/s3/bucket.ts'

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

/** A client past ours, for what tests look into. */
export function bucketClient(options: S3Options): S3Client {
  return new S3Client(s3ClientOptions(options))
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
  answerFirstByteAlone(s3.store)
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

/** s3rver 3.7 takes the 0 at the end of `bytes=0-0` for no end and answers with the whole object; the text '0' it takes for what it is. */
function answerFirstByteAlone(store: InstanceType<typeof S3rver>['store']): void {
  const getObject = store.getObject.bind(store)
  store.getObject = (bucket, key, options) => {
    return getObject(bucket, key, options?.end === 0 ? { ...options, end: '0' } : options)
  }
}
