import { type Blobs, BlobsAway } from './blobs.ts'

/**
 * Removes blobs whose rows are gone, or were never written. While the bucket is away they stay, unknown to every row: the sweep of such
 * blobs removes them, and what the caller has done stands.
 */
export async function removeUnneeded(blobs: Pick<Blobs, 'remove'>, keys: readonly string[]): Promise<void> {
  try {
    for (const key of keys) await blobs.remove(key)
  } catch (error) {
    if (!(error instanceof BlobsAway)) throw error
  }
}
