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
      if (/^[0-9a-f]{32}$/.test(key) && LastModified && LastModified < older_than) yield { key, size_bytes: Size }
    }
    token = page.NextContinuationToken
  } while (token !== undefined)
}

/**
 * Aborts uploads in parts that began before `older_than` and were never completed: their parts cost as blobs do and nobody sees them.
 * Returns how many. Servers that do not list them clear them away themselves, or by a rule of the bucket.
 */
export async function sweepUploads(bucket: Bucket, prefix: string, older_than: Date): Promise<number> {
  const { Uploads = [] } = await bucket.call('ListMultipartUploads', async ({ sdk, client, timeout }) => {
    const command = new sdk.ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: prefix })
    return client.send(command, timeout).catch((error: unknown) => {
      if (isNotOffered(error)) return { Uploads: [] }
      throw error
    })
  })
  const old = Uploads.filter(({ Initiated }) => Initiated !== undefined && Initiated < older_than)
  for (const { Key, UploadId } of old) {
    await bucket.call('AbortMultipartUpload', ({ sdk, client, timeout }) =>
      client
        .send(new sdk.AbortMultipartUploadCommand({ Bucket: bucket.name, Key, UploadId }), timeout)
        // It has ended since, or another process has aborted it.
        .catch((error: unknown) => {
          if ((error as Error).name !== 'NoSuchUpload') throw error
        }),
    )
  }
  return old.length
}

function isNotOffered(error: unknown): boolean {
  const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } }
  return name === 'NotImplemented' || $metadata?.httpStatusCode === 501
}
