import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { measureStorage } from '../../../server/platform/blobs/metrics.ts'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { processReader } from '../../../server/platform/metrics/exposition.ts'
import { testBucket } from '../../support/bucket/bucket.ts'
import { type FilesApp, sendForm, startFiles } from '../../support/http/files-app.ts'
import { send } from '../../support/http/send.ts'
import { startFaultyS3 } from '../../support/upstream/s3-faults.ts'

let app: FilesApp
let faulty: Awaited<ReturnType<typeof startFaultyS3>>
before(async () => {
  app = await startFiles()
  const bucket = await testBucket()
  faulty = await startFaultyS3(bucket.endpoint!)
  const long = 600_000
  const timeouts = { request_ms: long, part_ms: long, silence_ms: 300, probe_ms: 300 }
  const options = { ...bucket, endpoint: faulty.endpoint }
  Object.assign(app.ctx.blobs, s3Blobs(options, { staging_dir: join(app.root, 'staging'), timeouts }))
  measureStorage(app.ctx.metrics, app.ctx.blobs)
})
after(async () => {
  await app.close()
  await faulty.close()
})

const upload = () =>
  sendForm(app, [
    { name: 'file', filename: 'notes.txt', body: 'hello' },
    { name: 'purpose', body: 'user_data' },
  ])
const ready = async () => {
  app.clock.advance(2)
  const { status, body } = await send(app, 'GET', '/readyz')
  return [status, body.storage]
}
const reachable = async () => {
  const families = await processReader(app.ctx.metrics)()
  return families.find(({ name }) => name === 'kinora_storage_reachable')!.values.map(({ value }) => value)
}

test('503 with `retry-after` for every upload while the bucket hangs, and nothing is kept', {
  timeout: 60_000,
}, async () => {
  assert.equal((await upload()).status, 200)
  faulty.state.fault = () => ({ kind: 'stall' })
  for (const { status, body, headers } of await Promise.all([upload(), upload(), upload()])) {
    assert.deepEqual([status, body.error.code, headers.get('retry-after')], [503, 'server_is_overloaded', '5'])
  }
  assert.equal((await upload()).status, 503)
  assert.deepEqual(await ready(), [200, 'away'])
  const { rows } = await app.database.pool.query('select count(*)::int as count from files')
  assert.equal(rows[0].count, 1)
  assert.deepEqual(await reachable(), [0])
  faulty.state.fault = () => null
  while ((await upload()).status === 503) await new Promise(setImmediate)
  assert.deepEqual(await ready(), [200, 'ok'])
})
