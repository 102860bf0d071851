import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { runningPostgresUrl, startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'
import { prepareDatabase } from '../support/data/prepared.ts'
import { startService, tempDir } from '../support/service.ts'

test('a server left behind by a killed service is adopted with all it committed, and stops with the next service', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  await query(first.url, 'create table kept (x int); insert into kept values (1)')
  await first.kill()
  const second = await startService({ dir: dir.path })
  assert.equal(second.adopted, true)
  assert.equal(second.pid, first.pid)
  assert.deepEqual(await query(second.url, 'select x from kept'), [{ x: 1 }])
  await second.stop()
  assert.equal(runningPostgresUrl(join(dir.path, 'postgres')), null)
})

test('kill -9 of the server, ours or adopted: it is brought back and nothing acknowledged is missing', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  await query(first.url, 'create table kept (x serial)')
  let acknowledged = 0
  let pid = first.pid
  const service = { current: first }
  for (const adopt of [false, true]) {
    if (adopt) {
      await first.kill()
      service.current = await startService({ dir: dir.path })
      assert.equal(service.current.adopted, true)
    }
    for (let i = 0; i < 20; i++) await query(first.url, 'insert into kept default values').then(() => acknowledged++)
    process.kill(pid, 'SIGKILL')
    pid = await untilAnotherServes(first.url, pid)
    const [row] = await query(first.url, 'select count(*)::int as n from kept')
    assert.equal(row!.n, acknowledged)
  }
  await service.current.stop()
})

test('service and server both killed: the next start recovers, even when the old process id is taken', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  await query(first.url, 'create table kept (x int); insert into kept values (1)')
  await first.kill()
  process.kill(first.pid, 'SIGKILL')
  const file = join(dir.path, 'postgres/cluster/postmaster.pid')
  const lines = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, [process.pid, ...lines.slice(1)].join('\n'))
  writeFileSync(join(dir.path, 'postgres/cluster/.s.PGSQL.5432.lock'), `${process.pid}\n`)
  const second = await startService({ dir: dir.path })
  assert.equal(second.adopted, false)
  assert.deepEqual(await query(second.url, 'select x from kept'), [{ x: 1 }])
  await second.stop()
})

test('a first start that was killed while it made the cluster does not spoil the next', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  mkdirSync(join(dir.path, 'postgres/cluster.new'), { recursive: true })
  writeFileSync(join(dir.path, 'postgres/cluster.new/PG_VERSION'), '18\n')
  const server = await startEmbeddedPostgres({ dir: join(dir.path, 'postgres') })
  assert.equal((await query(server.url, 'select 1 as one')).length, 1)
  await server.stop()
  assert.deepEqual(readdirSync(join(dir.path, 'postgres')).sort(), ['cluster', 'log'])
})

test('commits are flushed, nothing listens on the network, and no statement reaches the log', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const home = join(dir.path, 'postgres')
  await prepareDatabase(home)
  const server = await startEmbeddedPostgres({ dir: home })
  const [settings] = await query(
    server.url,
    `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
      current_setting('synchronous_commit') as commits, current_setting('listen_addresses') as addresses`,
  )
  assert.deepEqual(settings, { fsync: 'on', pages: 'on', commits: 'on', addresses: '' })
  await assert.rejects(
    query(server.url, `create table c (x text primary key check (x <> 'canary-7'));insert into c values ('canary-7')`),
  )
  await assert.rejects(query(server.url, `select 'canary-8'::int`))
  await server.stop()
  assert.doesNotMatch(readFileSync(join(home, 'log'), 'utf8'), /canary/)
})

test('a database of another major version is refused with an explanation', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const home = join(dir.path, 'postgres')
  await prepareDatabase(home)
  const server = await startEmbeddedPostgres({ dir: home })
  await server.stop()
  const refused = async (major: string, why: RegExp) => {
    writeFileSync(join(home, 'cluster/PG_VERSION'), `${major}\n`)
    await assert.rejects(startEmbeddedPostgres({ dir: home }), { name: 'StartError', message: why })
  }
  await refused(
    '16',
    /made by PostgreSQL 16.*cannot read it.*version of Kinora that served it.*admin backup.*admin restore/,
  )
  await refused('99', /made by PostgreSQL 99, newer than.*Start the version of Kinora that served it last/)
})

test('a server that cannot start reports the end of its log', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const home = join(dir.path, 'postgres')
  await prepareDatabase(home)
  const server = await startEmbeddedPostgres({ dir: home })
  await server.stop()
  writeFileSync(join(home, 'cluster/postgresql.conf'), 'no_such_setting = 1\n')
  await assert.rejects(startEmbeddedPostgres({ dir: home }), /no_such_setting/)
})

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const result = await client.query<Record<string, unknown>>(text)
    return result.rows
  } finally {
    await client.end()
  }
}

/** The number of the server that serves in place of `old`. */
async function untilAnotherServes(url: string, old: number): Promise<number> {
  for (;;) {
    const [row] = await query(url, `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`).catch(
      () => [],
    )
    if (row && row.pid !== old) return row.pid as number
  }
}
