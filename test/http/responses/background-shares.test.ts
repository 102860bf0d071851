import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { lockUnfinished } from '../../../server/responses/stored/store/responses.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type BackgroundApp, readStream, SHARE, startBackgroundApp } from '../../support/http/background-app.ts'
import { assertRefused } from '../../support/http/videos-app.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp()
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

test('many slow responses of one organization delay none of another, and run when others of theirs end', async () => {
  const slow = await newCustomer(service.app)
  const { requests } = service.upstream
  const before = requests.length
  service.upstream.always({ kind: 'stall' })
  const made = await Promise.all(Array.from({ length: 2 * SHARE + 1 }, () => service.submit({}, slow)))
  while (requests.length - before < SHARE) await new Promise(setImmediate)
  service.upstream.always(null)
  assert.equal((await service.ended((await service.submit()).body.id)).status, 'completed')
  assert.equal(requests.length - before, SHARE + 1)
  service.upstream.release()
  const texts = await Promise.all(made.map(({ body }) => readStream(service.app, slow, `${body.id}?stream=true`)))
  assert.ok(texts.every((text) => text.includes('response.completed')))
})

test('a response waits for turns of 100 connections of another organization that create, cancel and delete, not for their line', async () => {
  const busy = await newCustomer(service.app)
  let over = false
  let done = 0
  const work = async () => {
    while (!over) {
      const { id } = (await service.submit({}, busy)).body
      assert.equal((await service.call('POST', `${id}/cancel`, busy)).status, 200)
      assert.equal((await service.call('DELETE', id, busy)).status, 200)
      done += 1
    }
  }
  const workers = Array.from({ length: 100 }, work)
  while (done < 25) await new Promise(setImmediate)
  const before = done
  assert.equal((await service.ended((await service.submit()).body.id)).status, 'completed')
  const meanwhile = done - before
  over = true
  await Promise.all(workers)
  assert.ok(meanwhile < workers.length, `${meanwhile} came first`)
})

test('an organization whose requests all wait for its own lock leaves connections to others', async () => {
  const busy = await newCustomer(service.app)
  const { db, pool } = service.app.database
  let answered = 0
  const made = await db.transaction().execute(async (tx) => {
    await lockUnfinished(tx, busy.org_id)
    const made = Array.from({ length: 50 }, () => service.submit({}, busy).finally(() => answered++))
    const waiting = () => pool.query(WAITING)
    while ((await waiting()).rows.length < 8) assert.equal(answered, 0)
    assert.equal((await service.ended((await service.submit()).body.id)).status, 'completed')
    assert.equal(answered, 0)
    return made
  })
  for (const { status } of await Promise.all(made)) assert.equal(status, 200)
})

test('429 for a stream that there is no room to read, before anything is stored', async () => {
  const person = await newCustomer(service.app)
  const leave = Array.from({ length: 4000 }, () => service.app.ctx.budget.enter(`${person.org_id} reads`))
  const { status } = await service.submit({ stream: true }, person)
  assert.equal(status, 429)
  for (const each of leave) each()
  const { rows } = await service.app.database.pool.query('select from responses where org_id = $1', [person.org_id])
  assert.equal(rows.length, 0)
})

test('429 at the number of unfinished responses that the plan allows, however many are sent at once', async () => {
  const person = await newCustomer(service.app)
  await service.app.database.pool.query("update organizations set plan = 'few' where id = $1", [person.org_id])
  service.upstream.always({ kind: 'stall' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => service.submit({}, person)))
  const [made, refused] = [200, 429].map((status) => answers.filter((answer) => answer.status === status))
  assert.deepEqual([made!.length, refused!.length], [2, 18])
  assertRefused(refused![0]!, { status: 429, code: 'concurrency_limit_exceeded', type: 'rate_limit_error' })
  assert.equal(refused![0]!.headers.get('x-should-retry'), 'false')
  await service.call('POST', `${made![0]!.body.id}/cancel`, person)
  assert.equal((await service.submit({}, person)).status, 200)
  service.upstream.always(null)
  service.upstream.release()
})

const WAITING = `
  select from pg_locks join pg_database d on d.oid = database
  where locktype = 'advisory' and not granted and datname = current_database()`
