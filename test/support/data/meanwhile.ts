import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db, Tx } from '../../../server/platform/db/db.ts'
import type { TestApp } from '../http/app.ts'

/**
 * Makes `request` while `change` is done but not committed, so that the request is checked by what was before it; commits once the request
 * is answered or waits for the change.
 */
export async function meanwhile<Answer>(
  app: Pick<TestApp, 'database'>,
  change: (tx: Tx) => Promise<unknown>,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const { db } = app.database
  let answered = false
  let answer: Promise<Answer> | undefined
  await db.transaction().execute(async (tx) => {
    await change(tx)
    answer = request().finally(() => {
      answered = true
    })
    while (!answered && !(await anyoneWaits(db))) await nextTurn()
  })
  return answer!
}

/** Whether anyone waits for a lock. */
export async function anyoneWaits(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}
