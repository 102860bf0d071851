import type { Db, Tx } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { addToBalance, insertAccount, insertEntry } from './store.ts'

/** Opens the account of a new organization, with a balance of zero. */
export async function openAccount(tx: Db, account: { org_id: string }): Promise<void> {
  await insertAccount(tx, account.org_id)
}

/** Adds `amount` units to the balance, or subtracts them when negative. `note` is the reason. Returns the entry's id. */
export async function grantCredits(
  tx: Tx,
  grant: { org_id: string; amount: bigint; note: string; user_id: string | null; now: Date },
): Promise<string> {
  const { org_id, amount, note, user_id, now } = grant
  if (note.trim() === '')
    throw new ApiError('invalid_value', 'A grant needs a note that gives the reason.', { param: 'note' })
  if (!(await addToBalance(tx, { org_id, amount, now }))) throw new ApiError('not_found', 'No such organization.')
  const id = newId('entry', now)
  const none = { job_id: null, key_id: null, request_id: null, model: null, seconds: null }
  await insertEntry(tx, { id, org_id, kind: 'grant', amount, user_id, note, created_at: now, ...none })
  return id
}
