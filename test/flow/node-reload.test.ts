import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { loadConfig } from '../../server/config/load.ts'
import { openChanges } from '../../server/platform/db/changes.ts'
import { newId } from '../../server/platform/ids.ts'
import { silentLog } from '../../server/platform/log.ts'
import { type NodeReloadOptions, openNodeReload } from '../../server/reload/node.ts'
import { findAnswers, insertReload } from '../../server/reload/store.ts'
import { testDatabase } from '../support/data/postgres.ts'

const database = await testDatabase()
const changes = await openChanges(database)
after(async () => {
  await changes.close()
  await database.close()
})

const config = loadConfig({ data_dir: '/nowhere' }, {}, null)
const secret = 'a secret of a node that is long enough'
const node_id = newId('node')

/** A node whose file has changed, and what is done with it. */
function nodeOf(more: Partial<NodeReloadOptions> = {}) {
  const done: string[] = []
  const clock = { now: () => new Date() }
  let changed: string[] = []
  const options: NodeReloadOptions = {
    node_id,
    ctx: { config, secret, db: database.db, clock, changes, log: silentLog },
    read: () => ({ config, secret }),
    changedBy: () => changed,
    rejoin: async () => void done.push('joined'),
    prepare: () => ({
      apply: () => void done.push('applied'),
      discard: async () => void done.push('discarded'),
    }),
    ...more,
  }
  const change = () => {
    changed = ['plans']
  }
  return { options, done, change }
}

async function recorded(): Promise<number> {
  const { rows } = await database.pool.query(
    "select count(*)::int as n from activity_entries where action = 'configuration.change'",
  )
  return rows[0].n
}

test('a reload that cannot be prepared is known to nobody: nothing is recorded and no node joins again', async () => {
  const before = await recorded()
  const { options, done, change } = nodeOf({
    prepare() {
      throw new Error('no such engine')
    },
  })
  const node = await openNodeReload(options)
  change()
  await assert.rejects(node.reload(), /no such engine/)
  assert.deepEqual([done, await recorded()], [[], before])
  await node.close()
})

test('a reload that cannot be recorded is not applied, and throws its own error when undoing it fails as well', async () => {
  const { options, done, change } = nodeOf()
  let joins = 0
  options.rejoin = async () => {
    joins += 1
    if (joins === 2) throw new Error('not undone')
  }
  const node = await openNodeReload(options)
  change()
  await database.pool.query('alter table activity_entries rename to activity_entries_away')
  await assert.rejects(node.reload(), /relation "activity_entries" does not exist/)
  await database.pool.query('alter table activity_entries_away rename to activity_entries')
  assert.deepEqual([done, joins], [['discarded'], 2])
  await node.close()
})

test('what changed before the node listens is taken up at its start, which answers a request that came meanwhile', async () => {
  const before = await recorded()
  const { options, done, change } = nodeOf()
  const id = newId('reload')
  await insertReload(database.db, { id, requested_at: new Date(), requested_by: 'somebody' })
  change()
  const node = await openNodeReload(options)
  assert.deepEqual([done, await recorded()], [['joined', 'applied'], before + 1])
  const [answer] = await findAnswers(database.db, id)
  assert.deepEqual([answer?.node_id, answer?.result, answer?.details], [node_id, 'applied', ['plans']])
  await node.close()
})
