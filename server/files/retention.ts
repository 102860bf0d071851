import type { Context } from '../context.ts'
import { removeUnneeded } from '../platform/blobs/remove.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Sweep } from '../platform/sweep.ts'
import { isSameInstallation, type KnownBlobs } from './installation.ts'
import { deleteExpiredFiles, knownFileBlobs } from './store/files.ts'
import { deleteReleasedPins } from './store/pins.ts'

/**
 * Removes expired files, and those that were deleted while a job needed them, once it has ended. Rows go first: a row without bytes would
 * be a broken promise, bytes without a row are found by `orphanSweep`. Reads have refused expired files since the very second they expired.
 */
export function filesSweep(ctx: Context): Sweep {
  return {
    name: 'files',
    every_seconds: 300,
    async run() {
      const limit = BATCH
      while ((await removeBlobs(ctx, await deleteExpiredFiles(ctx.db, { now: ctx.clock.now(), limit }))) >= limit);
      while ((await removeBlobs(ctx, await deleteReleasedPins(ctx.db, limit))) === limit);
    },
  }
}

/** Removes the bytes of rows that were just deleted, except those that a file or a job still needs. Returns how many keys there were. */
export async function removeBlobs(ctx: Pick<Context, 'db' | 'blobs'>, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0
  const needed = await knownFileBlobs(ctx.db, keys)
  await removeUnneeded(
    ctx.blobs,
    keys.filter((key) => !needed.has(key)),
  )
  return keys.length
}

/**
 * Removes uploads that were never finished, after 40 minutes. They are on the disk of the process that took them, so each removes its own;
 * where the blobs are another database's, none.
 */
export function stagedSweep({ db, blobs, clock }: Pick<Context, 'db' | 'blobs' | 'clock'>): Sweep {
  return {
    name: 'staged-blobs',
    every_seconds: 900,
    each_process: true,
    async run() {
      if (!(await isSameInstallation(db, blobs))) return
      await blobs.sweepStaged({ older_than: addSeconds(clock.now(), -STAGED_SECONDS) })
    },
  }
}

/**
 * Removes blobs that no row knows, a day after their last write.
 * Removes nothing unless the blobs carry this database's identity: the rows of others are elsewhere.
 */
export function orphanSweep(ctx: Context, known: readonly KnownBlobs[]): Sweep {
  return {
    name: 'orphan-blobs',
    every_seconds: 900,
    async run() {
      if (!(await isSameInstallation(ctx.db, ctx.blobs))) {
        ctx.log.error('orphan_sweep_refused', {
          sweep: 'orphan-blobs',
          detail: 'The files do not carry the identity of this database. Nothing was removed.',
        })
        return
      }
      const now = ctx.clock.now()
      const older_than = addSeconds(now, -ORPHAN_SECONDS)
      let count = 0
      let keys: string[] = []
      for await (const { key } of ctx.blobs.list({ older_than })) {
        if (keys.push(key) < BATCH) continue
        count += await removeUnknown(ctx, keys, known)
        keys = []
      }
      count += await removeUnknown(ctx, keys, known)
      if (count > 0) ctx.log.warn('orphan_blobs_removed', { sweep: 'orphan-blobs', count })
    },
  }
}

const BATCH = 500
/** Longer than any upload or render may take between its last write and its end. What is staged has no row anywhere. */
const STAGED_SECONDS = 2_400
/**
 * Long enough for an operator to notice that a service runs on the wrong database or files; well beyond `STAGED_SECONDS`, since a blob's
 * age counts from its last byte.
 */
const ORPHAN_SECONDS = 86_400

async function removeUnknown(ctx: Context, keys: readonly string[], known: readonly KnownBlobs[]): Promise<number> {
  if (keys.length === 0) return 0
  const sets = await Promise.all(known.map((ask) => ask(keys)))
  const orphans = keys.filter((key) => !sets.some((set) => set.has(key)))
  for (const key of orphans) await ctx.blobs.remove(key)
  return orphans.length
}
