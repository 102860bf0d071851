import type { StorageConfig, StoreConfig } from '../config/storage.ts'
import { twoStorages } from '../platform/blobs/also-read.ts'
import { type Blobs, BlobsAway } from '../platform/blobs/blobs.ts'
import { diskBlobs } from '../platform/blobs/disk.ts'
import type { MeasureCall } from '../platform/blobs/metrics.ts'
import { s3Blobs } from '../platform/blobs/s3/s3.ts'
import { StartError } from '../platform/start-error.ts'

/** `measure`: what records the calls of a bucket. */
type Place = { blobs_dir: string; proxied?: boolean; measure?: MeasureCall }

/** The blobs that `storage` names; `blobs_dir` is that of the data directory. Asks nothing of a bucket yet. */
export function openStorage({ also_read, ...store }: StorageConfig, place: Place): Blobs {
  const blobs = openStore(store as StoreConfig, place)
  return also_read ? twoStorages(blobs, openStore(also_read, place)) : blobs
}

/** One storage by itself. */
export function openStore(store: StoreConfig, { blobs_dir, proxied = false, measure }: Place): Blobs {
  if (store.kind === 'disk') return diskBlobs(blobs_dir, { proxied })
  return s3Blobs(store, { staging_dir: `${blobs_dir}/staging`, measure })
}

/** Throws StartError for a bucket that cannot be used as it is configured. */
export async function requireReachable(blobs: Blobs): Promise<void> {
  try {
    await blobs.mark()
  } catch (error) {
    if (!(error instanceof BlobsAway)) throw error
    throw new StartError(
      `The bucket of 'storage' cannot be used (${error.message}). Check endpoint, region, bucket and credentials, and that its server is running.`,
    )
  }
}

/** Where blobs are, in words for operators: a directory, or a bucket with its prefix. */
export function placeOf(store: StoreConfig, blobs_dir: string): string {
  return store.kind === 'disk' ? blobs_dir : `s3://${store.bucket}/${store.prefix}`
}
