import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findRenderTimes } from '../../../server/videos/store.ts'
import { plansOf } from '../../support/data/plans.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { insertCompletedJobs } from '../../support/http/videos-app.ts'

const CONFIG = `
plans: { free: { video_models: [instant-1, other-1] } }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
  - { id: other-1, engine: instant, per_second: "0.010000" }
  - { id: secret-1, engine: instant, per_second: "0.010000" }
`

let app: TestApp
let own: TestPerson
/** Of three organizations. */
let rivals: TestPerson[]
before(async () => {
  app = await startApp({ config: CONFIG })
  own = await newCustomer(app)
  rivals = [await newCustomer(app), await newCustomer(app), await newCustomer(app)]
})
after(() => app.close())

const read = (changes: Record<string, string | number> = {}) => {
  const query = new URLSearchParams({ model: 'instant-1', seconds: '8', aspect_ratio: '16:9' })
  for (const [name, value] of Object.entries(changes)) query.set(name, String(value))
  return send(app, 'GET', `/console/estimate?${query}`, { cookie: own.cookie })
}

test('what the last 50 completed jobs took, of this model, length and aspect ratio alone, whoever made them', async () => {
  const times = (count: number, seconds: (n: number) => number) => Array.from({ length: count }, (_, n) => seconds(n))
  await insertCompletedJobs(app.database, own, { took_seconds: times(30, () => 900) })
  for (const [at, rival] of rivals.entries()) {
    const took_seconds = times(50, (n) => 10 + n).filter((seconds) => seconds % 3 === at)
    await insertCompletedJobs(app.database, rival, { took_seconds, waited_seconds: 4 })
  }
  for (const changes of [{ seconds: 9 }, { aspect_ratio: '9:16' as const }, { model: 'other-1' }])
    await insertCompletedJobs(app.database, own, { took_seconds: times(5, () => 500), ...changes })
  const { status, body } = await read()
  assert.deepEqual([status, body.object, body.model, body.seconds], [200, 'video_estimate', 'instant-1', 8])
  assert.deepEqual(body.total_seconds, { typical: 35, low: 15, high: 54 })
  assert.deepEqual(body.waiting_seconds, { typical: 4, low: 4, high: 4 })
  assert.equal((await read({ seconds: 9 })).body.total_seconds.typical, 500)
  assert.deepEqual(Object.keys(body).sort(), [
    ...['aspect_ratio', 'model', 'object', 'seconds', 'total_seconds', 'waiting_seconds'],
  ])
})

test('of fewer than three organizations the own jobs alone count', async () => {
  for (const rival of rivals.slice(1))
    await insertCompletedJobs(app.database, rival, { took_seconds: Array(9).fill(100), seconds: 7 })
  assert.equal((await read({ seconds: 7 })).body.total_seconds, null)
  await insertCompletedJobs(app.database, own, { took_seconds: Array(6).fill(30), seconds: 6 })
  await insertCompletedJobs(app.database, rivals[0]!, { took_seconds: Array(20).fill(100), seconds: 6 })
  assert.deepEqual((await read({ seconds: 6 })).body.total_seconds, { typical: 30, low: 30, high: 30 })
})

test('null with fewer than five jobs, and 404 for a model that the plan does not include', async () => {
  await insertCompletedJobs(app.database, own, { took_seconds: [1, 2, 3, 4], seconds: 5 })
  const { total_seconds, waiting_seconds } = (await read({ seconds: 5 })).body
  assert.deepEqual([total_seconds, waiting_seconds], [null, null])
  for (const model of ['secret-1', 'nothing']) assert.equal((await read({ model })).body.error.code, 'model_not_found')
  const wrong: Array<Record<string, string | number>> = [{ seconds: 3 }, { aspect_ratio: '2:1' }]
  for (const each of wrong) assert.equal((await read(each)).status, 400)
})

test('an estimate reads the rows it counts from an index, however many jobs there are', async () => {
  await insertCompletedJobs(app.database, own, { took_seconds: Array(5000).fill(20), model: 'other-1', seconds: 12 })
  await app.database.pool.query('analyze video_jobs')
  const wanted = { model: 'other-1', seconds: 12, aspect_ratio: '16:9', limit: 50 } as const
  const [plan] = await plansOf(app.database, (db) => findRenderTimes(db, wanted))
  assert.match(plan!, /Index Scan Backward using video_jobs_completed/)
  assert.doesNotMatch(plan!, /Seq Scan|Bitmap/)
})
