import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type NewNode, upsertNode } from '../../server/nodes/store.ts'
import { openReports } from '../../server/operations/reports.ts'
import { openSightings } from '../../server/operations/sightings.ts'
import { listIncidents } from '../../server/operations/store-incidents.ts'
import { operationsSweeps } from '../../server/operations/sweeps.ts'
import { systemClock } from '../../server/platform/clock.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { silentLog } from '../../server/platform/log.ts'
import { runCommand } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { newCustomer } from '../support/http/app.ts'
import { startChatService } from '../support/http/chat-app.ts'
import { send } from '../support/http/send.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

type Incident = { subject: string; until: Date | null; times: number; detail: string; since: Date; node_id: string }

/** The incidents once they are as asked. */
async function incidentsWhen(db: Parameters<typeof listIncidents>[0], isSo: (found: Incident[]) => boolean) {
  for (;;) {
    const found = await listIncidents(db, { limit: 100 })
    if (isSo(found)) return found
    await pause(20)
  }
}

test('an outage of the database is one incident with its begin and end, written by the node when it is back', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const proxy = await postgresProxy(external.url)
  t.after(async () => {
    await dir.remove()
    await proxy.close()
    await external.drop()
  })
  const logged: string[] = []
  const note = (event: string) => void logged.push(event)
  const { url } = await dir.serve({ DATABASE_URL: proxy.url }, { ...silentLog, error: note, warn: note })
  const before = Date.now()
  proxy.cut()
  while (!logged.includes('database_away')) {
    await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer sk-none' } })
    await pause(5)
  }
  proxy.restore()
  const restored = Date.now()
  const { db, close } = openDb(external.url)
  t.after(close)
  const [row, ...others] = await incidentsWhen(db, (found) => found.some(({ until }) => until !== null))
  assert.deepEqual(others, [])
  assert.equal(row!.subject, 'database')
  assert.match(row!.node_id, /^node_/)
  assert.ok(
    row!.since.getTime() >= before - 50 && row!.since.getTime() <= restored,
    'it began when the connection was lost',
  )
  assert.ok(row!.until!.getTime() >= restored - 50, 'it ended when the connection was there again')
  const env = { DATABASE_URL: external.url }
  const { data } = JSON.parse((await runCommand(['admin', 'incidents', '--json'], env)).stdout)
  assert.deepEqual(Object.keys(data[0]), [
    ...['id', 'subject', 'node_id', 'since', 'until', 'duration_seconds', 'times', 'detail'],
  ])
  const { stdout } = await runCommand(['admin', 'incidents'], env)
  assert.match(stdout, /^since +until +for +what +times +detail\n\S+Z +\S+Z +\S+ +database +1 /)
})

/** A process of a node that reports to the database; nothing else runs in it. */
function reporter(db: Parameters<typeof openReports>[0]['db'], node_id: string) {
  const sightings = openSightings()
  const describe = async () => ({})
  const { close } = openReports({ db, clock: systemClock, log: silentLog, node_id, sightings, describe })
  return { ...sightings, close }
}

test('what several processes see is one incident, which ends with the last, and is the same one when it comes back within a minute', async (t) => {
  const { db, close } = await testDatabase()
  t.after(close)
  const [first, second] = [reporter(db, 'node_a'), reporter(db, 'node_b')]
  first.lost('bucket', { detail: 'refused' })
  await incidentsWhen(db, (found) => found.length === 1)
  second.lost('bucket', { detail: 'timed out' })
  await incidentsWhen(db, ([row]) => row?.detail === 'timed out')
  first.back('bucket')
  first.lost('engine m', { detail: 'unreachable' })
  const both = await incidentsWhen(db, (found) => found.length === 2)
  assert.equal(both.find(({ subject }) => subject === 'bucket')!.until, null, 'the second one still sees it')
  second.back('bucket')
  await incidentsWhen(db, (found) => found.some(({ until }) => until !== null))
  for (let n = 0; n < 3; n++) {
    second.lost('bucket', { detail: `again ${n}` })
    second.back('bucket')
  }
  const found = await incidentsWhen(db, (rows) => rows.some(({ detail }) => detail === 'again 2'))
  assert.deepEqual(found.map(({ subject, times }) => [subject, times]).sort(), [
    ['bucket', 4],
    ['engine m', 1],
  ])
  await first.close()
  const after = await listIncidents(db, { limit: 9 })
  assert.ok(
    after.every(({ until }) => until !== null),
    'a process that stops sees nothing any more',
  )
  second.lost('bucket', { since_ms: performance.now() + 120_000, detail: 'later' })
  await incidentsWhen(db, (rows) => rows.length === 3)
  await second.close()
})

test('an engine is lost after three failures in a row, and back with the first call that works', async (t) => {
  const { app, upstream, close } = await startChatService([{ id: 'm' }], { node_id: 'node_chat' })
  t.after(close)
  const person = await newCustomer(app)
  const ask = async () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
    return (await send(app, 'POST', '/v1/chat/completions', { key: person.key }, body)).status
  }
  upstream.always({ kind: 'json', status: 500, body: { error: { message: 'CUDA out of memory' } } })
  for (let n = 0; n < 3; n++) assert.equal(await ask(), 502)
  const [lost] = await incidentsWhen(app.database.db, (found) => found.length > 0)
  assert.equal(lost!.subject, 'engine m')
  assert.match(lost!.detail, /CUDA out of memory/)
  upstream.always(null)
  assert.equal(await ask(), 200)
  await incidentsWhen(app.database.db, ([row]) => row?.until != null)
})

test('a node that ends without a stop or hangs is an incident until it reports, or its directory has a node again', async (t) => {
  const { db, pool, close } = await testDatabase()
  t.after(close)
  const node = (id: string, data_dir: string): NewNode => ({
    id,
    host_name: 'host',
    data_dir,
    pid: 1,
    version: '0.1.0',
    role: 'all',
    processes: 1,
    connections: 12,
    public_url: null,
    secret: 's',
    accepted_secrets: ['s'],
  })
  for (const id of ['node_a', 'node_b', 'node_c']) await upsertNode(db, node(id, `/${id}`))
  const silence = (id: string) =>
    pool.query(
      "update nodes set seen_at = now() - interval '1 minute', started_at = now() - interval '1 hour' where id = $1",
      [id],
    )
  const [watch] = operationsSweeps({ db, clock: systemClock })
  await silence('node_b')
  await silence('node_c')
  await watch!.run()
  assert.deepEqual(await listIncidents(db, { limit: 9 }), [], 'a node may be about to report')
  await watch!.run()
  const found = await listIncidents(db, { limit: 9 })
  assert.deepEqual(found.map(({ subject, until }) => [subject, until]).sort(), [
    ['node node_b', null],
    ['node node_c', null],
  ])
  assert.match(found[0]!.detail, /host \(\/node_.\) ended without a stop/)
  await upsertNode(db, node('node_b', '/node_b'))
  await upsertNode(db, node('node_d', '/node_c'))
  await watch!.run()
  const ends = (await listIncidents(db, { limit: 9 })).map(({ until }) => until !== null)
  assert.deepEqual(ends, [true, true])
})
