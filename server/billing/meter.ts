import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Tx } from '../platform/db/db.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { ApiError, overloaded } from '../platform/errors.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { newId } from '../platform/ids.ts'
import { withTimeout } from '../platform/timeout.ts'
import { takingTurnsAs } from '../platform/turns.ts'
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
  /** Registers a charge that is going to come; `close` waits for it. */
  expect(): void
  /**
   * Resolves once the usage and its charge are on disk: one charge per request id, however often it is called. Rejects when the database
   * stays unreachable; the charge is still written when it comes back.
   */
  charge(usage: UsageCharge): Promise<void>
  /** Writes usages and their charges in the caller's transaction. Call the function it returns after the commit. */
  chargeWithin(tx: Tx, usages: readonly UsageCharge[]): Promise<() => void>
  /** Waits for the charges that are registered or not yet written. */
  close(): Promise<void>
}

/** How long a balance above zero is trusted. Charges of this process are known at once. */
const BALANCE_MILLISECONDS = 1000
/** Rows of one statement. Enough to catch up at any rate one process can answer. */
const GROUP_MAX = 1000
/**
 * `patience_ms`: how long an answer waits for a database that went away before it ends in an error. `statement_ms`: a statement that
 * takes longer is sent again over another connection, since this one may have died silently. `close_ms`: how long the end of the
 * process waits for charges.
 */
export type MeterLimits = { patience_ms: number; statement_ms: number; close_ms: number }
const LIMITS: MeterLimits = { patience_ms: 20_000, statement_ms: 5000, close_ms: 10_000 }
const ACCOUNTS_MAX = 50_000

type Waiting = { row: UsageCharge & { id: string }; since: number; done: () => void; failed: (error: unknown) => void }

/**
 * Charges for chat. Charges are written in groups: while one statement is being committed the next group fills, so that many charges
 * share the cost of a commit. `onCharged` is called for each organization whose balance changed, `onWritten` for each charge on disk. Source:
 * docs/decisions/0005-group-commit-of-usage.md.
 */
export function openMeter(
  db: Db,
  { patience_ms, statement_ms, close_ms }: MeterLimits = LIMITS,
  onCharged: (org_id: string) => void = () => {},
  onWritten: (usage: UsageCharge) => void = () => {},
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

  /** A group that may or may not have been committed when the database went away is written again: a request id is charged once. */
  const write = async (group: readonly Waiting[]): Promise<void> => {
    for (let pause = 50; ; pause = Math.min(1000, pause * 2)) {
      try {
        announce(await attempt(db, group, statement_ms))
        for (const { row, done } of group) {
          onWritten(row)
          done()
        }
        return
      } catch (error) {
        if (!isTransient(error)) return bisect(group, error)
        rejectExpired([...group, ...gathering], patience_ms)
        if (closed) {
          for (const { failed } of group) failed(error)
          return
        }
        await sleep(pause)
      }
    }
  }

  /** Writes the halves of a group one after the other, so that one bad row does not fail the others. */
  const bisect = async (group: readonly Waiting[], error: unknown): Promise<void> => {
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
      writing ??= takingTurnsAs('', writeGroups)
      return written
    },
    async chargeWithin(tx, usages) {
      if (usages.length === 0) return () => {}
      const rows = usages.map((usage) => ({ ...usage, id: newId('entry', usage.now) }))
      const changed = await chargeUsages(tx, rows)
      return () => {
        announce(changed)
        for (const usage of usages) onWritten(usage)
      }
    },
    async close() {
      const deadline = performance.now() + close_ms
      while ((expected > 0 || writing) && performance.now() < deadline) await sleep(5)
      closed = true
    },
  }
}

/** The charge of one run of queued work: written with the end of the run, or never. */
export type RunCharge = {
  /** Takes the place of the service's meter during the run: admits as that does, and keeps the charge instead of writing it. */
  meter: Meter
  /** Null when no engine was called. */
  used(): UsageCharge | null
}

/**
 * A run that is given back to the queue or lost is at the operator's cost, so its charge is not written before its end. Each run has
 * its own charge and ledger entry.
 */
export function openRunCharge(meter: Meter): RunCharge {
  let used: UsageCharge | null = null
  return {
    meter: {
      ...meter,
      expect() {},
      async charge(usage) {
        used = usage
      },
    },
    used: () => used,
  }
}

function openBalances(db: Db) {
  const now_ms = () => performance.now()
  const recent = freshCache<bigint>({ ttl_ms: BALANCE_MILLISECONDS, entries_max: ACCOUNTS_MAX, now_ms })
  return {
    remember: recent.keep,
    isKnownPositive: (org_id: string): boolean => (recent.recall(org_id) ?? 0n) > 0n,
    async requirePositive(org_id: string): Promise<void> {
      const balance = await recent.load(org_id, async () => (await findAccount(db, org_id))?.balance ?? null)
      if (balance === null || balance <= 0n) {
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
  return withTimeout(statement_ms, chargeUsages(db, rows), () => {
    throw new LateStatement('the database has not answered in time')
  })
}

class LateStatement extends Error {
  override name = 'LateStatement'
}

/** Whether the same statement may succeed later: the database is away, busy, or chose this one to end a deadlock. */
function isTransient(error: unknown): boolean {
  const { code } = error as { code?: string }
  return (
    error instanceof LateStatement || isDatabaseDown(error) || code === '40P01' || code === '40001' || code === '57014'
  )
}

/** Fails the answers that have waited too long. Their charges are still written. */
function rejectExpired(waiting: readonly Waiting[], patience_ms: number): void {
  const before = performance.now() - patience_ms
  for (const { since, failed } of waiting) {
    if (since <= before) failed(overloaded('database', 'The service cannot reach its database. Try again shortly.'))
  }
}
