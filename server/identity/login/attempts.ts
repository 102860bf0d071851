import { createHmac } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Secrets } from '../../context.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Database } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { networkOf } from '../../platform/http/client-address.ts'
import { deleteAttempt, deleteOldAttempts, insertAttempt, lockAttempts, nthNewestAttempt } from './store.ts'

/** Failed sign-ins of one account, or from one address, before others must wait. Source: docs/api/console.md, Signing in. */
const FAILURES_MAX = 10
const WINDOW_SECONDS = 600

/**
 * Counts a sign-in before it is tried, so that a thousand at once get as many tries as a thousand in a row.
 * It stays counted as a failure until `succeeded` is called. Works for accounts that do not exist as for others.
 * Throws ApiError `rate_limit_exceeded`.
 */
export async function countAttempt(
  db: Kysely<Database>,
  attempt: { email: string; address: string; secrets: Secrets; now: Date },
): Promise<{ succeeded(): Promise<void> }> {
  const { secrets, now } = attempt
  const since = addSeconds(now, -WINDOW_SECONDS)
  await deleteOldAttempts(db, since)
  const account_hashes = keyed(secrets, `account ${attempt.email.toLowerCase()}`)
  const address_hashes = keyed(secrets, `address ${networkOf(attempt.address)}`)
  const { id, tenth } = await db.transaction().execute(async (tx) => {
    await lockAttempts(tx, [account_hashes[0]!, address_hashes[0]!])
    const id = await insertAttempt(tx, { account_hash: account_hashes[0]!, address_hash: address_hashes[0]!, at: now })
    return {
      id,
      tenth: await nthNewestAttempt(tx, { id, account_hashes, address_hashes }, { nth: FAILURES_MAX, since }),
    }
  })
  if (tenth === null) return { succeeded: () => deleteAttempt(db, id) }
  await deleteAttempt(db, id)
  const wait = Math.max(1, Math.ceil((tenth.getTime() - since.getTime()) / 1000))
  throw new ApiError('rate_limit_exceeded', `Too many failed sign-ins. Please try again in ${wait}s.`, {
    headers: { 'retry-after': String(wait) },
  })
}

/**
 * Emails and addresses of people who may not be ours are kept only as keyed hashes, and only for the window. The first hash is the one
 * that is stored; the others are those that were stored under earlier secrets.
 */
export function keyed(secrets: Secrets, text: string): string[] {
  return secrets.map((secret) => createHmac('sha256', secret).update(text).digest('base64url'))
}
