import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../platform/db.ts'
import { isDatabaseDown } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { chargeUsages, findAccount } from './store.ts'

/** What one answered request used. `amount` is what it costs, in units of 10⁻⁸. */
export type UsageCharge = {
  request_id: string
  org_id: string
  user_id: string
  key_id: string | null
  model: string
  input_tokens: number
  cached_input_tokens: number
  output_tokens: number
  reasoning_tokens: number
  amount: bigint
  now: Date
}

export type Meter = {
  /** Throws ApiError `insufficient_credits` unless the organization's balance is above zero. */
  admit(org_id: string): void | Promise<void>
  /** Resolves once the usage and its charge are on disk. Once per request id, however often it is called. */
  charge(usage: UsageCharge): Promise<void>
  /** Waits for what is under way. */
  close(): Promise<void>
}

/** How long a balance above zero is believed. What this process charges meanwhile is known at once. */
const BALANCE_MILLISECONDS = 1000
/** Rows of one statement. Enough to catch up at any rate one process can answer. */
const GROUP_MAX = 1000
/** How long an answer waits for a database that went away before it ends in an error. */
const PATIENCE_SECONDS = 20
const ACCOUNTS_MAX = 50_000

type Waiting = { usage: UsageCharge; done: () => void; failed: (error: unknown) => void }

/**
 * Counts what chat costs. Charges are written in groups: while one statement is on its way to the disk the next group gathers, so the
 * cost of a commit is shared by all who wait for it. Source: docs/decisions, group commit of usage.
 */
export function openMeter(db: Db): Meter {
  const balances = new Map<string, { balance: bigint; until: number }>()
  let gathering: Waiting[] = []
  let writing: Promise<void> | null = null

  const remember = (org_id: string, balance: bigint) => {
    balances.delete(org_id)
    balances.set(org_id, { balance, until: performance.now() + BALANCE_MILLISECONDS })
    if (balances.size > ACCOUNTS_MAX) balances.delete(balances.keys().next().value!)
  }

  const readBalance = async (org_id: string): Promise<void> => {
    const account = await findAccount(db, org_id)
    if (account) remember(org_id, account.balance)
    if (!account || account.balance <= 0n) {
      throw new ApiError('insufficient_credits', 'Your balance is used up. Add credits and try again.')
    }
  }

  const writeGroups = async (): Promise<void> => {
    while (gathering.length > 0) {
      const group = gathering.slice(0, GROUP_MAX)
      gathering = gathering.slice(GROUP_MAX)
      try {
        const changed = await writeOnce(db, group)
        for (const { org_id, balance } of changed) remember(org_id, balance)
        for (const { done } of group) done()
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
    }
    writing = null
  }

  return {
    admit(org_id) {
      const known = balances.get(org_id)
      if (known && known.balance > 0n && known.until > performance.now()) return
      return readBalance(org_id)
    },
    charge(usage) {
      const written = new Promise<void>((done, failed) => gathering.push({ usage, done, failed }))
      writing ??= writeGroups()
      return written
    },
    async close() {
      await writing
    },
  }
}

/** A group that may or may not have been written when the database went away is written again: a request id is charged once. */
async function writeOnce(db: Db, group: readonly Waiting[]): Promise<Array<{ org_id: string; balance: bigint }>> {
  const rows = group.map(({ usage }) => ({ ...usage, id: newId('entry', usage.now) }))
  const deadline = performance.now() + PATIENCE_SECONDS * 1000
  for (let pause = 50; ; pause = Math.min(1000, pause * 2)) {
    try {
      return await chargeUsages(db, rows)
    } catch (error) {
      const deadlocked = (error as { code?: string }).code === '40P01'
      if ((!isDatabaseDown(error) && !deadlocked) || performance.now() > deadline) throw error
      await sleep(pause)
    }
  }
}
