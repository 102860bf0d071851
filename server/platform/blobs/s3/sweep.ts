import type {
  ListMultipartUploadsCommandInput,
  ListMultipartUploadsCommandOutput,
  MultipartUpload,
} from '@aws-sdk/client-s3'
import { isName } from '../staging.ts'
import type { Bucket } from './bucket.ts'

/** Every blob below `prefix` that was last written before `older_than`, by the clock of the bucket. */
export async function* listObjects(
  bucket: Bucket,
  prefix: string,
  older_than: Date,
): AsyncIterable<{ key: string; size_bytes: number }> {
  let token: string | undefined
  do {
    const page = await bucket.call('ListObjectsV2', ({ sdk, client, timeout }) =>
      client.send(
        new sdk.ListObjectsV2Command({ Bucket: bucket.name, Prefix: prefix, ContinuationToken: token }),
        timeout,
      ),
    )
    for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
      const key = Key.slice(prefix.length)
      if (isName(key) && LastModified && LastModified < older_than) yield { key, size_bytes: Size }
    }
    token = page.NextContinuationToken
  } while (token !== undefined)
}

/**
 * Aborts uploads in parts that began before `older_than` and were never completed: their parts cost as blobs do and nobody sees them.
 * Returns how many. Servers that do not list them clear them away themselves, or by a rule of the bucket.
 */
export async function sweepUploads(bucket: Bucket, prefix: string, older_than: Date): Promise<number> {
  let count = 0
  for await (const { Key, UploadId, Initiated } of listUploads(bucket, prefix)) {
    if (Initiated === undefined || Initiated >= older_than) continue
    count += 1
    await bucket.call('AbortMultipartUpload', ({ sdk, client, timeout }) =>
      client
        .send(new sdk.AbortMultipartUploadCommand({ Bucket: bucket.name, Key, UploadId }), timeout)
        // It has ended since, or another process has aborted it.
        .catch((error: unknown) => {
          if ((error as Error).name !== 'NoSuchUpload') throw error
        }),
    )
  }
  return count
}

async function* listUploads(bucket: Bucket, prefix: string): AsyncIterable<MultipartUpload> {
  let after: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | null = {}
  while (after !== null) {
    const page: ListMultipartUploadsCommandOutput | null = await listPage(bucket, { Prefix: prefix, ...after })
    yield* page?.Uploads ?? []
    const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page ?? {}
    after = IsTruncated && KeyMarker !== undefined ? { KeyMarker, UploadIdMarker } : null
  }
}

/** Null from a server that does not list them. */
function listPage(bucket: Bucket, input: Omit<ListMultipartUploadsCommandInput, 'Bucket'>) {
  return bucket.call('ListMultipartUploads', ({ sdk, client, timeout }) =>
    client
      .send(new sdk.ListMultipartUploadsCommand({ Bucket: bucket.name, ...input }), timeout)
      .catch((error: unknown) => {
        if (isNotOffered(error)) return null
        throw error
      }),
  )
}

function isNotOffered(error: unknown): boolean {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } }
  return name === 'NotImplemented' || $metadata?.httpStatusCode === 501
}
