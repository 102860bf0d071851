import type { Context } from '../context.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Sweep } from '../platform/sweep.ts'
import { deleteExpiredFiles } from './store.ts'

/** Tells which of `keys` some row still needs. Every feature that keeps blobs has one. */
export type KnownBlobs = (keys: readonly string[]) => Promise<ReadonlySet<string>>

/**
 * Removes expired files, row first: a row without bytes would be a broken promise, bytes without a row are found by `orphanSweep`.
 * Reads have refused them since the very second they expired.
 */
export function filesSweep(ctx: Context): Sweep {
  return {
    name: 'files',
    every_seconds: 300,
    async run() {
      let keys: string[]
      do {
        keys = await deleteExpiredFiles(ctx.db, { now: ctx.clock.now(), limit: BATCH })
        for (const key of keys) await ctx.blobs.remove(key)
      } while (keys.length === BATCH)
    },
  }
}

/** Removes blobs that no row knows and uploads that were never finished, both within an hour of their last write. */
export function orphanSweep(ctx: Context, known: readonly KnownBlobs[]): Sweep {
  return {
    name: 'orphan-blobs',
    every_seconds: 900,
    async run() {
      const older_than = addSeconds(ctx.clock.now(), -ORPHAN_SECONDS)
      await ctx.blobs.sweepStaged({ older_than })
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
/** Longer than any upload or render may take between its last write and its row; with `every_seconds` it makes less than an hour. */
const ORPHAN_SECONDS = 2_400

async function removeUnknown(ctx: Context, keys: readonly string[], known: readonly KnownBlobs[]): Promise<number> {
  if (keys.length === 0) return 0
  const sets = await Promise.all(known.map((ask) => ask(keys)))
  const orphans = keys.filter((key) => !sets.some((set) => set.has(key)))
  for (const key of orphans) await ctx.blobs.remove(key)
  return orphans.length
}
