import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openJobCache } from '../../../server/videos/cache.ts'
import { VIDEO_TOPIC } from '../../../server/videos/queues.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { submit } from '../../support/http/videos-app.ts'

let app: TestApp
let customer: TestPerson
before(async () => {
  app = await startApp()
  customer = await newCustomer(app)
})
after(() => app.close())

test('in the only process of a service, a poll asks the database no more until a change is announced', async (t) => {
  const { changes, db } = app.ctx
  const heard: Array<string | null> = []
  t.after(changes.on(VIDEO_TOPIC, (id) => heard.push(id)))
  const { id } = (await submit(app, customer)).body
  // A process hears what it announces at once, and again from the database.
  while (heard.filter((each) => each === id).length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  const cache = openJobCache({ changes, only: true })
  t.after(cache.close)
  const read = async (org_id = customer.org_id) => (await cache.read(app.ctx, org_id, id))?.progress
  assert.equal(await read(), 0)
  await db.updateTable('video_jobs').set({ progress: 7 }).where('id', '=', id).execute()
  assert.equal(await read(), 0, 'not asked')
  changes.announce(VIDEO_TOPIC, id)
  assert.equal(await read(), 7)
  assert.equal(await read('org_another'), undefined)
})
