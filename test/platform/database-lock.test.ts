import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { type LockMode, lockDatabase } from '../../server/platform/db/database-lock.ts'
import { newId } from '../../server/platform/ids.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

const database = await testDatabase()
after(database.close)

/** Holds the database as one node; `taken` resolves when it hears that others have it. */
async function hold(as: LockMode, { node = newId('node'), url = database.url, wait_seconds = 0 } = {}) {
  const taken = Promise.withResolvers<LockMode>()
  const refusal = (held: LockMode) => `held ${held}`
  const kept = await lockDatabase(url, { node, mode: as, refusal, on_taken: taken.resolve, wait_seconds })
  return { taken: taken.promise, release: kept.release }
}

test('any number share a database, one alone has it to itself, and neither starts beside the other', async () => {
  const shared = [await hold('shared'), await hold('shared')]
  await assert.rejects(hold('alone'), /StartError: held shared/)
  for (const each of shared) await each.release()
  const alone = await hold('alone')
  await assert.rejects(hold('alone'), /StartError: held alone/)
  await assert.rejects(hold('shared'), /StartError: held alone/)
  await alone.release()
  await (await hold('shared')).release()
})

test('a node whose connection was lost has the database again, and is notified when another has taken it meanwhile', async () => {
  const network = await postgresProxy(database.url)
  const cut = await hold('shared', { url: network.url })
  try {
    network.cut()
    const other = await hold('alone', { wait_seconds: 5 })
    network.restore()
    assert.equal(await cut.taken, 'alone')
    await other.release()
    for (let refusals = 0; refusals === 0; ) {
      const third = await hold('alone').catch(() => null)
      if (third) await third.release()
      else refusals += 1
    }
  } finally {
    await cut.release()
    await network.close()
  }
})

test('a connection that only the server still has does not keep its own node from the database', async () => {
  const node = newId('node')
  const lost = new pg.Client({ connectionString: database.url, application_name: `kinora ${node}` })
  lost.on('error', () => {})
  await lost.connect()
  await lost.query('select pg_advisory_lock(7301950145)')
  await (await hold('alone', { node, wait_seconds: 5 })).release()
})

test('a node that shares the database has it again while the server still holds its lost connection, and others share it', async (t) => {
  const node = newId('node')
  const network = await postgresProxy(database.url)
  const others = await hold('shared')
  let taken = false
  const cut = await hold('shared', { node, url: network.url })
  void cut.taken.then(() => {
    taken = true
  })
  const lost = new pg.Client({ connectionString: database.url, application_name: `kinora ${node}` })
  lost.on('error', () => {})
  await lost.connect()
  t.after(async () => {
    await cut.release()
    await others.release()
    await network.close()
  })
  network.cut()
  // It waits for the end of the connection that was cut.
  await lost.query('select pg_advisory_lock_shared(7301950145), pg_advisory_lock(hashtextextended($1, 7301950146))', [
    node,
  ])
  const ended = new Promise((resolve) => lost.once('end', resolve))
  network.restore()
  await ended
  const again = `select count(*)::int as n from pg_stat_activity join pg_locks using (pid)
    where application_name = $1 and locktype = 'advisory' and granted`
  for (let locks = 0; locks < 2; ) locks = (await database.pool.query(again, [`kinora ${node}`])).rows[0].n
  assert.equal(taken, false)
})
