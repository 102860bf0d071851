import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyDatabase } from '../../server/platform/db/copy/database.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { emptyDatabase } from '../support/data/data-dir.ts'

test('neither side of a copy times out while it waits for the other', async () => {
  const [source, target] = await Promise.all([emptyDatabase(), emptyDatabase()])
  const [from, into] = [openDb(source.url), openDb(target.url)]
  try {
    // One reads how long its transaction may sit idle, the other refuses rows where that has an end.
    await from.pool.query(
      `create view idle as select current_setting('idle_in_transaction_session_timeout') as at_most`,
    )
    await into.pool.query(`create table idle (at_most text check (
      current_setting('idle_in_transaction_session_timeout') = '0'))`)
    await copyDatabase(from.pool, into.pool, { except: [] })
    assert.deepEqual((await into.pool.query('select at_most from idle')).rows, [{ at_most: '0' }])
  } finally {
    await Promise.all([from.close(), into.close()])
    await Promise.all([source.drop(), target.drop()])
  }
})
