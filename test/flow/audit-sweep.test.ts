import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { allSweeps } from '../../server/assembly/background.ts'
import type { Log, LogFields } from '../../server/platform/log.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'

const errors: Array<{ event: string; fields?: LogFields }> = []
const log: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (event, fields = {}) => void errors.push({ event, fields }),
}
let app: TestApp
let beside: TestApp
let owner: TestPerson
before(async () => {
  app = await startApp({ log })
  beside = await startApp({ beside: app })
  owner = await newCustomer(app)
})
after(async () => {
  await beside.close()
  await app.close()
})

const audit = () =>
  allSweeps(app.ctx, app.database.db)
    .find(({ name }) => name === 'audit')!
    .run()
const submit = (at: TestApp) => send(at, 'POST', '/v1/videos', { key: owner.key }, videoBody())
const ready = async (at: TestApp) => {
  const { status, body } = await send(at, 'GET', '/readyz')
  return [status, body.status, body.audit.ok]
}
/** Longer than any process goes by what it has read. */
const forget = () => {
  app.clock.advance(5)
  beside.clock.advance(5)
}

test('the hourly audit that finds I1 to I4 broken logs an error, shows in /readyz and stops new video jobs on every process, and nothing else, until one is clean', async () => {
  await audit()
  assert.deepEqual(await ready(app), [200, 'ok', true])
  assert.equal((await submit(app)).status, 200)
  assert.equal((await submit(beside)).status, 200)
  const running = (await submit(app)).body.id
  assert.equal(errors.length, 0)

  await app.database.pool.query('update accounts set balance = balance + 1 where org_id = $1', [owner.org_id])
  await audit()
  assert.deepEqual(
    errors.map(({ event, fields }) => [event, fields?.invariant]),
    [['invariant_broken', 'I1']],
  )
  forget()
  for (const at of [app, beside]) {
    assert.deepEqual(await ready(at), [200, 'ok', false])
    const refused = await submit(at)
    assert.deepEqual([refused.status, refused.body.error.type], [503, 'server_error'])
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.doesNotMatch(refused.body.error.message, /I1/)
    assert.equal((await send(at, 'GET', `/v1/videos/${running}`, { key: owner.key })).status, 200)
    assert.equal((await send(at, 'GET', '/v1/models', { key: owner.key })).status, 200)
  }
  await app.tick()
  const { body } = await send(app, 'GET', `/v1/videos/${running}`, { key: owner.key })
  assert.equal(body.status, 'completed', 'jobs that were accepted go on')

  await app.database.pool.query('update accounts set balance = balance - 1 where org_id = $1', [owner.org_id])
  await audit()
  forget()
  for (const at of [app, beside]) {
    assert.deepEqual(await ready(at), [200, 'ok', true])
    assert.equal((await submit(at)).status, 200)
  }
})

test('the audit is a sweep that runs every hour', () => {
  const sweep = allSweeps(app.ctx, app.database.db).find(({ name }) => name === 'audit')
  assert.equal(sweep?.every_seconds, 3600)
})
