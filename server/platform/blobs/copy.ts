import { ANY_AGE, BlobMissing, type Blobs, isLost, type StagedBlob } from './blobs.ts'

/** Copies at a time. Each has a file in the staging directory meanwhile. */
const COPIES = 4

/** `lost`: keys of those found that could not be copied: deleted since they were listed, or damaged. The target has all others. */
export type Copied = { found: number; copied: number; bytes: number; lost: string[] }

export type CopyOptions = {
  /** What is known elsewhere of the sha256 that a blob was stored with; null: nothing. */
  sha256Of?: (key: string) => Promise<string | null>
  on_progress?: (so_far: Copied) => void
}

/**
 * Copies every blob of `source` that `target` does not have with the same size, under the same key, and returns what it did. Each copy is
 * verified: what is read against its size, what `sha256Of` knows, and in a bucket the object's own sha256; what is written against what was
 * read. Safe while a service uses both, and to run again after it was cut short. Throws BlobsAway or DiskFull.
 */
export async function copyBlobs(
  source: Blobs,
  target: Blobs,
  { sha256Of = async () => null, on_progress = () => {} }: CopyOptions = {},
): Promise<Copied> {
  const done: Copied = { found: 0, copied: 0, bytes: 0, lost: [] }
  const listing = source.list({ older_than: ANY_AGE })[Symbol.asyncIterator]()
  const work = async () => {
    for (let next = await listing.next(); !next.done; next = await listing.next()) {
      const { key, size_bytes } = next.value
      done.found += 1
      if ((await sizeOf(target, key)) === size_bytes) continue
      if (await copyBlob(source, target, { key, size_bytes, sha256: await sha256Of(key) })) {
        done.copied += 1
        done.bytes += size_bytes
      } else done.lost.push(key)
      on_progress(done)
    }
  }
  await Promise.all(Array.from({ length: COPIES }, work))
  return done
}

/** False for a blob that is lost. */
async function copyBlob(
  source: Blobs,
  target: Blobs,
  { key, size_bytes, sha256 }: { key: string; size_bytes: number; sha256: string | null },
): Promise<boolean> {
  const staged = await stageFrom(source, target, key)
  if (!staged) return false
  if (staged.size_bytes !== size_bytes || staged.sha256 !== (sha256 ?? staged.sha256)) {
    await target.discard(staged)
    return false
  }
  await target.publish(staged, key)
  return true
}

/** Null for a blob that is lost, which may show only at its end. Staging throws nothing of the kind itself. */
async function stageFrom(source: Blobs, target: Blobs, key: string): Promise<StagedBlob | null> {
  try {
    return await target.stage(await source.open(key), { max_bytes: Number.POSITIVE_INFINITY })
  } catch (error) {
    if (isLost(error)) return null
    throw error
  }
}

async function sizeOf(blobs: Blobs, key: string): Promise<number | null> {
  try {
    return await blobs.size(key)
  } catch (error) {
    if (error instanceof BlobMissing) return null
    throw error
  }
}
