import { StartError } from '../start-error.ts'
import { type BlobMark, BlobMissing, type Blobs } from './blobs.ts'

/**
 * Blobs on their way from `source` to `target`: new ones go to the target alone, others are read where they are, and a blob is removed
 * from both. Nothing here copies them: `copyBlobs` does.
 *
 * The marks keep the two together. The source is `partial` from now on, since it no longer gets everything; a target that had no mark is
 * so until all is copied. A service does not start on a partial storage alone.
 */
export function twoStorages(target: Blobs, source: Blobs): Blobs {
  const hasTarget = (key: string) => hasBlob(target, key)
  const holderOf = async (key: string) => ((await hasTarget(key)) ? target : source)
  const { proxyPath, presignedUrl } = target
  return {
    stage: target.stage,
    publish: target.publish,
    discard: target.discard,
    write: target.write,

    open: async (key, range) => (await holderOf(key)).open(key, range),
    send: async (key, range, out) => (await holderOf(key)).send(key, range, out),
    proxyPath: proxyPath && (async (key) => ((await hasTarget(key)) ? proxyPath(key) : null)),
    presignedUrl: presignedUrl && (async (key, answer) => ((await hasTarget(key)) ? presignedUrl(key, answer) : null)),
    size: async (key) => (await holderOf(key)).size(key),
    withLocalFile: async (blob, use) =>
      (typeof blob === 'string' ? await holderOf(blob) : target).withLocalFile(blob, use),

    async remove(key) {
      // The source first: a copy that is made in between is then found unknown, and swept.
      const were = [await source.remove(key), await target.remove(key)]
      return were.includes(true)
    },
    async *list(options) {
      yield* target.list(options)
      yield* source.list(options)
    },
    async sweepStaged(options) {
      return (await target.sweepStaged(options)) + (await source.sweepStaged(options))
    },
    check: () => target.check(),

    also_reads: true,
    async mark() {
      const [of_target, of_source] = await Promise.all([target.mark(), source.mark()])
      requireTogether(of_target, of_source)
      return of_target ?? of_source
    },
    async setMark({ installation_id, paired }) {
      const had = await target.mark()
      await source.setMark({ installation_id, paired, partial: true })
      await target.setMark({ installation_id, paired, partial: had === null || had.partial === true })
    },
  }
}

async function hasBlob(blobs: Blobs, key: string): Promise<boolean> {
  try {
    await blobs.size(key)
    return true
  } catch (error) {
    if (error instanceof BlobMissing) return false
    throw error
  }
}

function requireTogether(target: BlobMark | null, source: BlobMark | null): void {
  if (target?.partial && !source) {
    throw new StartError(
      'The storage of storage.also_read has never been used by this service, but files are still to be moved: name the one they are in.',
    )
  }
  if (target && source && target.installation_id !== source.installation_id) {
    throw new StartError(
      "storage and storage.also_read hold the files of two installations. Correct one of the two; if you know that they belong together, run 'kinora admin database adopt'.",
    )
  }
}
