import assert from 'node:assert/strict'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import type { Serving } from '../../server/cli/serve.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'

const dirs: Array<() => Promise<void>> = []
after(async () => {
  for (const remove of dirs) await remove()
})
function newDir() {
  const dir = dataDir()
  dirs.push(dir.remove)
  return dir
}

async function upload({ url, first_run }: Serving): Promise<void> {
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('file', new Blob(['a note']), 'note.txt')
  const headers = { authorization: `Bearer ${first_run!.api_key}` }
  assert.equal((await fetch(`${url}/v1/files`, { method: 'POST', headers, body })).status, 200)
}

async function tablesOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    "select count(*)::int as n from information_schema.tables where table_schema = 'public'",
  )
  await client.end()
  return rows[0].n
}

test('DATABASE_URL of an empty database on a used data directory is refused with a message: files and first-run.json stay, the database is not touched', async () => {
  const dir = newDir()
  await dir.prepare()
  const serving = await dir.serve()
  await upload(serving)
  await serving.stop()
  dir.age(2)
  const before = { blobs: dir.blobs(), first_run: readFileSync(join(dir.path, 'first-run.json'), 'utf8') }
  assert.equal(before.blobs.length, 1)

  const empty = await emptyDatabase()
  const refused = await dir.serve({ DATABASE_URL: empty.url }).then(
    async (other) => other.stop().then(() => null),
    (error: Error) => error,
  )
  assert.deepEqual(
    { blobs: dir.blobs(), first_run: readFileSync(join(dir.path, 'first-run.json'), 'utf8') },
    before,
    'nothing is lost',
  )
  assert.equal(refused?.name, 'StartError')
  assert.match(refused!.message, /belong to another database/)
  assert.match(refused!.message, /kinora admin database move/)
  assert.equal(await tablesOf(empty.url), 0)
  await empty.drop()

  const again = await dir.serve()
  assert.deepEqual(dir.blobs(), before.blobs)
  await again.stop()
})

test('two services on one database with two data directories: the second is refused and loses nothing', async () => {
  const [here, there] = [newDir(), newDir()]
  const shared = await testDatabase()
  const first = await here.serve({ DATABASE_URL: shared.url })
  await upload(first)
  await assert.rejects(there.serve({ DATABASE_URL: shared.url }), /StartError.*another data directory/s)
  assert.equal(here.blobs().length, 1)
  await first.stop()
  const again = await here.serve({ DATABASE_URL: shared.url })
  await again.stop()
  await shared.close()
})

test('a copy of a data directory cannot be served beside the original on their common database, and can after it', async () => {
  const [original, copy] = [newDir(), newDir()]
  const shared = await testDatabase()
  const first = await original.serve({ DATABASE_URL: shared.url })
  await upload(first)
  cpSync(join(original.path, 'blobs'), join(copy.path, 'blobs'), { recursive: true })
  cpSync(join(original.path, 'secret'), join(copy.path, 'secret'))
  await assert.rejects(
    copy.serve({ DATABASE_URL: shared.url }),
    /StartError.*Another service runs on the database of DATABASE_URL/s,
  )
  await first.stop()
  const moved = await copy.serve({ DATABASE_URL: shared.url })
  await moved.stop()
  await shared.close()
})

test('a service that lost its connections to the database still keeps a second service off it', async () => {
  const [here, copy] = [newDir(), newDir()]
  const shared = await testDatabase()
  const first = await here.serve({ DATABASE_URL: shared.url })
  cpSync(join(here.path, 'blobs'), join(copy.path, 'blobs'), { recursive: true })
  const client = new pg.Client({ connectionString: shared.url })
  await client.connect()
  const holders = "from pg_stat_activity where application_name like 'kinora node_%' and datname = current_database()"
  const { rows } = await client
    .query(`select pg_terminate_backend(pid) as ended ${holders}`)
    .finally(() => client.end())
  assert.deepEqual(rows, [{ ended: true }])
  await assert.rejects(copy.serve({ DATABASE_URL: shared.url }), /StartError.*Another service runs/s)
  await first.stop()
  await shared.close()
})
