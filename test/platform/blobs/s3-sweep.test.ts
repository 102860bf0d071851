import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as sdk from '@aws-sdk/client-s3'
import type { Bucket } from '../../../server/platform/blobs/s3/bucket.ts'
import { sweepUploads } from '../../../server/platform/blobs/s3/sweep.ts'

const OLD = new Date('2026-01-01')
const YOUNG = new Date('2026-03-01')

/** A bucket whose server lists `uploads` two at a time. */
function pagedBucket(uploads: sdk.MultipartUpload[]) {
  const aborted: string[] = []
  async function send(command: unknown) {
    if (command instanceof sdk.AbortMultipartUploadCommand) return void aborted.push(command.input.UploadId!)
    assert.ok(command instanceof sdk.ListMultipartUploadsCommand)
    const { KeyMarker, UploadIdMarker } = command.input
    const from = uploads.findIndex(({ Key, UploadId }) => Key === KeyMarker && UploadId === UploadIdMarker) + 1
    const page = uploads.slice(from, from + 2)
    const { Key, UploadId } = page.at(-1)!
    const IsTruncated = from + 2 < uploads.length
    return { Uploads: page, IsTruncated, NextKeyMarker: Key, NextUploadIdMarker: UploadId }
  }
  const call: Bucket['call'] = (_, use) =>
    use({ sdk, client: { send } as unknown as sdk.S3Client, timeout: { requestTimeout: 1000 } })
  return { bucket: { name: 'b', call } as Bucket, aborted }
}

test('old uploads in parts are aborted on every page of the list, and young ones on none', async () => {
  const uploads = ['a', 'a', 'b', 'c', 'd'].map((Key, i) => ({
    Key,
    UploadId: String(i),
    Initiated: i === 1 || i === 3 ? YOUNG : OLD,
  }))
  const { bucket, aborted } = pagedBucket(uploads)
  assert.equal(await sweepUploads(bucket, '', new Date('2026-02-01')), 3)
  assert.deepEqual(aborted, ['0', '2', '4'])
})
