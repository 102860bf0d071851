import { planOf } from '../../catalog/entitlements.ts'
import type { Config } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { freshCache } from '../../platform/fresh-cache.ts'
import type { Sweep } from '../../platform/sweep.ts'
import { findAccount } from '../store.ts'
import { findStoredBytes, lockStorage, mergeStoredBytes } from './store.ts'

/** Rejects what would be stored beyond the limit of a plan. What a job or a response that was admitted makes is always stored. */
export type StorageGate = {
  /** Throws ApiError `storage_limit_exceeded` while the organization stores as much as its plan allows. */
  requireRoom(config: Config, owner: Owner): void | Promise<void>
  /**
   * Admits an upload of so many bytes before any is read. Throws ApiError `insufficient_credits` while the balance is below zero,
   * `storage_limit_exceeded` when there is no room for it, and `too_many_requests` as `beginReceiving` does.
   */
  admitUpload(config: Config, owner: Owner, bytes: { least: number; most: number }): Promise<Receiving>
  /** Throws ApiError `too_many_requests` while the organization is sending more than an organization may at once. */
  beginReceiving(org_id: string, bytes: number): Receiving
}

/** Bytes of an upload in progress, which are not counted as stored yet. Call `end` once it is stored or discarded. */
type Receiving = { end(): void }

type Owner = Pick<Principal, 'org_id' | 'plan'>

/** How long a process believes that there is room. A refusal is never from memory: a deletion counts at once. */
const ROOM_MILLISECONDS = 1000
const ORGANIZATIONS_MAX = 50_000
/** Of one organization in one process: ten of the largest uploads. */
const RECEIVING_BYTES_MAX = 1_000_000_000
/** Counted for each file, job and response beside its content, as migration 0006 does. */
const ROW_BYTES = 4096

export function openStorageGate(db: Db): StorageGate {
  const now_ms = () => performance.now()
  const recent = freshCache<number>({ ttl_ms: ROOM_MILLISECONDS, entries_max: ORGANIZATIONS_MAX, now_ms })
  const receiving = new Map<string, number>()

  const requireLess = async (org_id: string, limit: number): Promise<void> => {
    const read = () => storedBytes(db, org_id)
    if ((await recent.find(org_id, read))! >= limit && (await recent.load(org_id, read))! >= limit) throw noRoom(limit)
  }
  const beginReceiving = (org_id: string, bytes: number): Receiving => {
    const held = receiving.get(org_id) ?? 0
    if (held + bytes > RECEIVING_BYTES_MAX) throw tooManyUploads()
    receiving.set(org_id, held + bytes)
    return {
      end() {
        const remaining = receiving.get(org_id)! - bytes
        if (remaining > 0) receiving.set(org_id, remaining)
        else receiving.delete(org_id)
      },
    }
  }
  return {
    requireRoom(config, { org_id, plan }) {
      const limit = planOf(config, plan).max_stored_bytes
      if (limit === null || (recent.recall(org_id) ?? limit) < limit) return
      return requireLess(org_id, limit)
    },
    async admitUpload(config, { org_id, plan }, { least, most }) {
      const balance = (await findAccount(db, org_id))?.balance ?? 0n
      if (balance < 0n)
        throw new ApiError('insufficient_credits', 'Your balance is below zero. Add credits before you store anything.')
      const limit = planOf(config, plan).max_stored_bytes
      if (limit !== null && (await storedBytes(db, org_id)) + ROW_BYTES + least > limit) throw noRoom(limit)
      return beginReceiving(org_id, most)
    },
    beginReceiving,
  }
}

/**
 * Throws ApiError `storage_limit_exceeded` when the organization stores more than its plan allows, with what this transaction has added.
 * Others that ask in their transactions wait until this one ends, so that together they stay within the limit.
 */
export async function requireWithinPlan(tx: Tx, config: Config, { org_id, plan }: Owner): Promise<void> {
  const limit = planOf(config, plan).max_stored_bytes
  if (limit === null) return
  await lockStorage(tx, org_id)
  if ((await storedBytes(tx, org_id)) > limit) throw noRoom(limit)
}

/** Keeps the number of rows small of which a sum is made. */
export function storageSweep({ db }: Pick<Context, 'db'>): Sweep {
  return { name: 'storage.merge', every_seconds: 10, run: () => mergeStoredBytes(db) }
}

async function storedBytes(db: Db, org_id: string): Promise<number> {
  const { files, videos, responses, records } = await findStoredBytes(db, org_id)
  return files + videos + responses + records
}

function noRoom(limit: number): ApiError {
  const text = `Your organization has no room for this: its plan allows ${limit} stored bytes. Delete files, videos or responses, wait until they expire, or send 'store' as false with responses.`
  return new ApiError('storage_limit_exceeded', text)
}

function tooManyUploads(): ApiError {
  const text = `Your organization is uploading more than ${RECEIVING_BYTES_MAX} bytes at once. Wait for uploads to end before you begin others.`
  return new ApiError('too_many_requests', text)
}
