import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { stayJoined } from '../../../server/nodes/join.ts'
import { deleteNode, findNodes, type NewNode, upsertNode } from '../../../server/nodes/store.ts'
import { newId } from '../../../server/platform/ids.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { testDatabase } from '../../support/data/postgres.ts'

const database = await testDatabase()
after(database.close)

const node: NewNode = {
  id: newId('node'),
  host_name: 'here',
  data_dir: '/here',
  pid: 1,
  version: '1.0.0',
  role: 'all',
  processes: 1,
  connections: 12,
  public_url: null,
  secret: 'secret',
  accepted_secrets: ['secret'],
}

test('a node that says it is there waits for its last write, so that none brings its row back once it has left', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let writes = 0
  const counted: KyselyPlugin = {
    transformQuery(args) {
      writes += 1
      return args.node
    },
    transformResult: async ({ result }) => result,
  }
  const { db, pool } = database
  await upsertNode(db, node)
  const blocking = await pool.connect()
  await blocking.query('begin')
  await blocking.query('lock table nodes in exclusive mode')
  const joined = stayJoined(db.withPlugin(counted), node, silentLog)
  for (let seconds = 0; seconds < 30; seconds += 10) t.mock.timers.tick(10_000)
  assert.equal(writes, 1, 'none begins while one is under way')
  const stopped = joined.stop()
  await blocking.query('commit')
  blocking.release()
  await stopped
  await deleteNode(db, node.id)
  assert.deepEqual(await findNodes(db), [])
})
