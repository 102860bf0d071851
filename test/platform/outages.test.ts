import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDb } from '../../server/platform/db/db.ts'
import { logOutages } from '../../server/platform/log/outages.ts'
import { type Log, openLog } from '../../server/platform/log.ts'
import { newCustomer, startApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

type Line = { event: string; status?: number; failed_requests?: number; failed_work?: number; count?: number }

/** A log, its lines so far, and a promise of the first with some event. */
function keptLog() {
  const lines: Line[] = []
  const waiting: Array<{ event: string; resolve(line: Line): void }> = []
  const log = openLog('debug', {
    write(text) {
      const line = JSON.parse(text) as Line
      lines.push(line)
      for (const { event, resolve } of waiting) if (event === line.event) resolve(line)
    },
  })
  const next = (event: string) => new Promise<Line>((resolve) => waiting.push({ event, resolve }))
  return { log, lines, next }
}

/** A log of outages of one dependency that is away while `state.away` is set; time goes by at once. */
function outageLog(log: Log, state: { away: Error | null }) {
  const check = async () => {
    if (state.away) throw state.away
  }
  const pause = async () => new Promise<void>((resolve) => setImmediate(resolve))
  const away = new Error('away')
  const storage = { name: 'storage' as const, mayExplain: (error: unknown) => error === away, sign: 'sign', check }
  return { away, ...logOutages(log, [storage], { pause }) }
}

test('an outage is a line at its begin and one at its end with its time and what failed', async () => {
  const { log, lines, next } = keptLog()
  const state: { away: Error | null } = { away: new Error('away') }
  const outages = outageLog(log, state)
  const [began, ended] = [next('storage_away'), next('storage_back')]
  const fail = (count: number) => {
    for (let n = 0; n < count; n++) {
      outages.log.error('request_failed', { request_id: `req_${n}`, error: outages.away })
      outages.log.error('step_failed', { error: outages.away })
      outages.log.warn('sign', { error: outages.away })
      outages.log.info('request', { status: 503 })
    }
  }
  fail(300)
  await began
  fail(200)
  outages.log.error('request_failed', { error: new Error('of something else') })
  state.away = null
  const { failed_requests, failed_work } = await ended
  assert.deepEqual({ failed_requests, failed_work }, { failed_requests: 500, failed_work: 500 })
  const others = lines.filter(({ event }) => event !== 'request').map(({ event }) => event)
  assert.deepEqual(others, ['storage_away', 'request_failed', 'storage_back'])
  assert.equal(lines.filter(({ event }) => event === 'request').length, 500)

  state.away = new Error('away')
  const again = next('storage_away')
  fail(1)
  await again
  await outages.close()
})

test('errors of a dependency that works are written as they are, and those of too many are counted', async () => {
  const { log, lines, next } = keptLog()
  const outages = outageLog(log, { away: null })
  const counted = next('log_lines_dropped')
  for (let n = 0; n < 150; n++) outages.log.error('step_failed', { error: outages.away })
  assert.equal((await counted).count, 50)
  assert.equal(lines.filter(({ event }) => event === 'step_failed').length, 100)
  await outages.close()
  outages.log.error('step_failed', { error: outages.away })
  assert.equal(lines.at(-1)!.event, 'step_failed')
})

test('while the database is away, requests are their lines of the access log and no others', async (t) => {
  const { log, lines, next } = keptLog()
  const service = await startApp()
  const proxy = await postgresProxy(service.database.url)
  const database = { ...service.database, url: proxy.url }
  const far = await startApp({ log, beside: { ...service, database } })
  t.after(async () => {
    await far.close()
    await proxy.close()
    await service.close()
  })
  const customer = await newCustomer(service)
  assert.equal((await send(far, 'GET', '/v1/videos', customer)).status, 200)
  const began = next('database_away')
  const back = next('announcements_back')
  proxy.cut()
  for (let n = 0; n < 20; n++) assert.equal((await send(far, 'GET', '/v1/videos', customer)).status, 503)
  await began
  for (let n = 0; n < 20; n++) assert.equal((await send(far, 'GET', '/v1/videos', customer)).status, 503)
  proxy.restore()
  await back
  const events = lines.map(({ event }) => event)
  assert.deepEqual([...new Set(events)].sort(), [
    'announcements_back',
    'announcements_lost',
    'database_away',
    'request',
  ])
  assert.equal(events.filter((event) => event === 'database_away').length, 1)
  assert.equal(lines.filter(({ event, status }) => event === 'request' && status === 503).length, 40)
})

test('a connection that is lost while the database answers is no outage', async (t) => {
  const { log, lines, next } = keptLog()
  const service = await startApp({ log })
  t.after(() => service.close())
  const { pool, close } = openDb(service.database.url)
  t.after(close)
  assert.equal((await send(service, 'GET', '/v1/videos', await newCustomer(service))).status, 200)
  const lost = next('database_connection_lost')
  await pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await lost
  assert.deepEqual(
    lines.filter(({ event }) => event === 'database_away'),
    [],
  )
})
