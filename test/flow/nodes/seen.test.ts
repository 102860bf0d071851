import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deleteNode, findNodes, type NewNode, touchNode, upsertNode } from '../../../server/nodes/store.ts'
import { openDb } from '../../../server/platform/db/db.ts'
import { newId } from '../../../server/platform/ids.ts'
import { testDatabase } from '../../support/data/postgres.ts'

const database = await testDatabase()
const { db, close } = openDb(database.url, { pool_max: 2 })
after(async () => {
  await close()
  await database.close()
})

test('a node that says it is there takes back nothing of a reload, and is there again where its row was removed', async () => {
  const before: NewNode = {
    id: newId('node'),
    host_name: 'here',
    data_dir: '/here',
    pid: 1,
    version: '1.0.0',
    role: 'all',
    processes: 1,
    connections: 12,
    public_url: 'https://before.example.com',
    secret: 'before',
    accepted_secrets: ['before'],
  }
  const reloaded = { public_url: 'https://after.example.com', secret: 'after', accepted_secrets: ['after', 'before'] }
  await upsertNode(db, before)
  await upsertNode(db, { ...before, ...reloaded })
  await touchNode(db, before)
  const { public_url, secret, accepted_secrets } = (await findNodes(db))[0]!
  assert.deepEqual({ public_url, secret, accepted_secrets }, reloaded)
  await deleteNode(db, before.id)
  await touchNode(db, before)
  assert.equal((await findNodes(db)).length, 1)
})
