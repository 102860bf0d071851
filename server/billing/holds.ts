import type { Tx } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { formatMoney } from '../platform/money.ts'
import { insertHolds, lockAccount, settleHoldsOf, takeHold } from './store.ts'

export type Hold = { job_id: string; org_id: string; amount: bigint; running_max: number; now: Date }

/**
 * Sets the amounts of one organization's jobs aside and takes a render slot for each, all or none, so that concurrent submissions cannot spend
 * the same balance. One conditional update of the account row: call it as the last thing in the transaction that inserts the jobs, since it
 * locks the row. Throws ApiError `insufficient_credits` when balance − held is less than the sum, `concurrency_limit_exceeded` when the plan
 * has too few free slots.
 * Source: docs/api/videos.md, order of checks.
 */
export async function placeHolds(tx: Tx, holds: readonly Hold[]): Promise<void> {
  const { org_id } = holds[0]!
  const amount = holds.reduce((sum, hold) => sum + hold.amount, 0n)
  const running_max = Math.min(...holds.map((hold) => hold.running_max))
  const wanted = { org_id, amount, running_max, count: holds.length }
  while (!(await takeHold(tx, wanted))) await explainRefusal(tx, wanted)
  await insertHolds(tx, holds)
}

type Wanted = { org_id: string; amount: bigint; running_max: number; count: number }

/** Throws the reason why nothing was taken, with the row locked; returns when it could be taken by now. */
async function explainRefusal(tx: Tx, { org_id, amount, running_max, count }: Wanted): Promise<void> {
  const account = await lockAccount(tx, org_id)
  if (!account)
    throw new ApiError('insufficient_credits', 'The organization has no account.', { internal: `org ${org_id}` })
  const available = account.balance - account.held
  if (available < amount) {
    const costs = count === 1 ? 'This render costs' : `These ${count} renders together cost`
    const text = `${costs} ${formatMoney(amount)}, and ${formatMoney(available)} is available. Add credits or wait for jobs in flight to end.`
    throw new ApiError('insufficient_credits', text)
  }
  if (account.running + count > running_max) {
    const remedy =
      count === 1 ? 'Wait for one to end, or cancel one.' : `Wait until ${count} can start together, or send fewer.`
    const text = `Your plan allows ${running_max} renders in progress, and ${account.running} are. ${remedy}`
    throw new ApiError('concurrency_limit_exceeded', text)
  }
}

/** What a charge records of its job. */
export type ChargedJob = {
  id: string
  org_id: string
  user_id: string
  key_id: string | null
  request_id: string
  model: string
  seconds: number
}

/**
 * Ends the holds of jobs that have ended, with their slots: those of completed jobs become charges, the others are released and nothing is
 * charged. One update an account. Call it in the transaction that ends the jobs.
 * Throws when one of the holds was settled before: roll the transaction back.
 */
export async function settleHolds(
  tx: Tx,
  { captured, released, now }: { captured: readonly ChargedJob[]; released: readonly string[]; now: Date },
): Promise<void> {
  if (captured.length + released.length === 0) return
  const charges = captured.map(({ id: job_id, org_id, user_id, key_id, request_id, model, seconds }) => ({
    id: newId('entry', now),
    job_id,
    org_id,
    user_id,
    key_id,
    request_id,
    model,
    seconds,
  }))
  const settled = await settleHoldsOf(tx, { charges, released, now })
  const missing = [...captured.map(({ id }) => id), ...released].filter((id) => !settled.has(id))
  if (missing.length > 0) throw new Error(`hold of ${missing.join(', ')} was settled before the job ended`)
}
