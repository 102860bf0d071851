import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Log } from '../platform/log.ts'
import { addRefusals, type Refused } from './store-refusals.ts'

/** Counts what organizations are refused. */
export type Refusals = { count(org_id: string, code: string): void; close(): Promise<void> }

const WRITE_SECONDS = 60
/** Pairs of organization and code between two writes; further ones are not counted. */
const PAIRS_MAX = 1000

/** Counts in memory and adds to the table once a minute. While the database is away it goes on counting. */
export function openRefusals({ db, clock, log }: { db: Db; clock: Clock; log: Log }): Refusals {
  let counted = new Map<string, Refused>()
  let writing: Promise<void> | null = null

  const add = ({ org_id, code, count }: Refused) => {
    const key = `${org_id} ${code}`
    const known = counted.get(key)
    if (known) known.count += count
    else if (counted.size < PAIRS_MAX) counted.set(key, { org_id, code, count })
  }
  const write = async () => {
    const batch = [...counted.values()]
    if (batch.length === 0) return
    counted = new Map()
    await addRefusals(db, batch, clock.now()).catch((error: unknown) => {
      log.debug('refusals_not_counted', { error })
      for (const each of batch) add(each)
    })
  }
  const timer = setInterval(() => {
    writing ??= write().finally(() => {
      writing = null
    })
  }, WRITE_SECONDS * 1000).unref()
  return {
    count: (org_id, code) => add({ org_id, code, count: 1 }),
    async close() {
      clearInterval(timer)
      await writing
      await write()
    },
  }
}
