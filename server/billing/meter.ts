import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Tx } from '../platform/db/db.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
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
  /** Announces one charge, which `close` waits for. */
  expect(): void
  /**
   * Resolves once the usage and its charge are on disk. Once per request id, however often it is called. Rejects when the database
   * stays away; the charge is written nevertheless when it comes back.
   */
  charge(usage: UsageCharge): Promise<void>
  /** Writes usages and their charges in a transaction of the caller's. What it returns is to be called after the commit. */
  chargeWithin(tx: Tx, usages: readonly UsageCharge[]): Promise<() => void>
  /** Waits for the charges that were announced. */
  close(): Promise<void>
}

/** How long a balance above zero is believed. What this process charges meanwhile is known at once. */
const BALANCE_MILLISECONDS = 1000
/** Rows of one statement. Enough to catch up at any rate one process can answer. */
const GROUP_MAX = 1000
/**
 * `patience_ms`: how long an answer waits for a database that went away before it ends in an error. `statement_ms`: a statement that
 * takes longer is sent again over another connection, since this one may have been lost without a word. `close_ms`: how long the end
 * of the process waits for charges.
 */
export type MeterLimits = { patience_ms: number; statement_ms: number; close_ms: number }
const LIMITS: MeterLimits = { patience_ms: 20_000, statement_ms: 5000, close_ms: 10_000 }
const ACCOUNTS_MAX = 50_000

type Waiting = { row: UsageCharge & { id: string }; since: number; done: () => void; failed: (error: unknown) => void }

/**
 * Counts what chat costs. Charges are written in groups: while one statement is on its way to the disk the next group gathers, so the
 * cost of a commit is shared by all who wait for it. `onCharged` hears of each organization whose balance changed. Source:
 * docs/decisions/0005-group-commit-of-usage.md.
 */
export function openMeter(
  db: Db,
  { patience_ms, statement_ms, close_ms }: MeterLimits = LIMITS,
  onCharged: (org_id: string) => void = () => {},
): Meter {
  const balances = openBalances(db)
  let expected = 0
  let gathering: Waiting[] = []
  let writing: Promise<void> | null = null
  let closed = false

  const announce = (changed: ReadonlyArray<{ org_id: string; balance: bigint }>): void => {
    for (const { org_id, balance } of changed) {
      balances.remember(org_id, balance)
      onCharged(org_id)
    }
  }

  const writeGroups = async (): Promise<void> => {
    while (gathering.length > 0) {
      const group = gathering.slice(0, GROUP_MAX)
      gathering = gathering.slice(GROUP_MAX)
      await write(group)
    }
    writing = null
  }

  /** A group that may or may not have been written when the database went away is written again: a request id is charged once. */
  const write = async (group: readonly Waiting[]): Promise<void> => {
    for (let pause = 50; ; pause = Math.min(1000, pause * 2)) {
      try {
        announce(await attempt(db, group, statement_ms))
        for (const { done } of group) done()
        return
      } catch (error) {
        if (!isPassing(error)) return apart(group, error)
        refuseImpatient([...group, ...gathering], patience_ms)
        if (closed) {
          for (const { failed } of group) failed(error)
          return
        }
        await sleep(pause)
      }
    }
  }

  /** One row that cannot be written is no reason to lose the others. */
  const apart = async (group: readonly Waiting[], error: unknown): Promise<void> => {
    if (group.length === 1) return group[0]!.failed(error)
    const half = group.length >> 1
    await write(group.slice(0, half))
    await write(group.slice(half))
  }

  return {
    admit(org_id) {
      if (!balances.isKnownPositive(org_id)) return balances.requirePositive(org_id)
    },
    expect() {
      expected += 1
    },
    charge(usage) {
      expected -= 1
      const row = { ...usage, id: newId('entry', usage.now) }
      const since = performance.now()
      const written = new Promise<void>((done, failed) => gathering.push({ row, since, done, failed }))
      writing ??= writeGroups()
      return written
    },
    async chargeWithin(tx, usages) {
      if (usages.length === 0) return () => {}
      const rows = usages.map((usage) => ({ ...usage, id: newId('entry', usage.now) }))
      const changed = await chargeUsages(tx, rows)
      return () => announce(changed)
    },
    async close() {
      const deadline = performance.now() + close_ms
      while ((expected > 0 || writing) && performance.now() < deadline) await sleep(5)
      closed = true
    },
  }
}

function openBalances(db: Db) {
  const balances = new Map<string, { balance: bigint; until: number }>()
  const remember = (org_id: string, balance: bigint): void => {
    balances.delete(org_id)
    balances.set(org_id, { balance, until: performance.now() + BALANCE_MILLISECONDS })
    if (balances.size > ACCOUNTS_MAX) balances.delete(balances.keys().next().value!)
  }
  return {
    remember,
    isKnownPositive(org_id: string): boolean {
      const known = balances.get(org_id)
      return known !== undefined && known.balance > 0n && known.until > performance.now()
    },
    async requirePositive(org_id: string): Promise<void> {
      const account = await findAccount(db, org_id)
      if (account) remember(org_id, account.balance)
      if (!account || account.balance <= 0n) {
        throw new ApiError('insufficient_credits', 'Your balance is used up. Add credits and try again.')
      }
    },
  }
}

async function attempt(
  db: Db,
  group: readonly Waiting[],
  statement_ms: number,
): Promise<Array<{ org_id: string; balance: bigint }>> {
  const rows = group.map(({ row }) => row)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LateStatement('the database has not answered')), statement_ms)
  })
  try {
    return await Promise.race([chargeUsages(db, rows), late])
  } finally {
    clearTimeout(timer)
  }
}

class LateStatement extends Error {
  override name = 'LateStatement'
}

/** Whether the same statement may succeed later: the database is away, busy, or chose this one to end a deadlock. */
function isPassing(error: unknown): boolean {
  const { code } = error as { code?: string }
  return (
    error instanceof LateStatement || isDatabaseDown(error) || code === '40P01' || code === '40001' || code === '57014'
  )
}

/** Their answers end in an error; what they owe is still written. */
function refuseImpatient(waiting: readonly Waiting[], patience_ms: number): void {
  const before = performance.now() - patience_ms
  for (const { since, failed } of waiting) {
    if (since <= before)
      failed(new ApiError('server_is_overloaded', 'The service cannot reach its database. Try again shortly.'))
  }
}
