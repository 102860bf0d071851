import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { pairInstallation } from '../../server/files/installation.ts'
import { filesSweep, orphanSweep, stagedSweep } from '../../server/files/retention.ts'
import { knownFileBlobs } from '../../server/files/store/files.ts'
import { type FilesApp, startFiles, uploaded } from '../support/http/files-app.ts'
import { send } from '../support/http/send.ts'

const DAY = 86_400
const start = new Date()
let app: FilesApp
before(async () => {
  app = await startFiles()
  await pairInstallation(app.ctx)
})
after(() => app.close())
beforeEach(async () => {
  await app.clear()
  app.clock.set(new Date(Date.now() + 2 * DAY * 1000))
  await orphanSweep(app.ctx, []).run()
  await stagedSweep(app.ctx).run()
  app.clock.set(start)
})

const known = (keys: readonly string[]) => knownFileBlobs(app.ctx.db, keys)
const sweepFiles = () => filesSweep(app.ctx).run()
const sweepOrphans = async () => {
  await orphanSweep(app.ctx, [known]).run()
  await stagedSweep(app.ctx).run()
}
async function rows(): Promise<number> {
  return (await app.database.pool.query('select count(*)::int as count from files')).rows[0].count
}

async function* bytes(count: number): AsyncGenerator<Uint8Array> {
  yield randomBytes(count)
}

test('a file is available until the last millisecond of its thirty days and gone in the next, before any sweep', async () => {
  const { id } = await uploaded(app, 'x')
  const seen = async () => {
    const answers = await Promise.all(['', '/content'].map((path) => fetchStatus(`/v1/files/${id}${path}`)))
    const { body } = await send(app, 'GET', '/v1/files', app)
    return [...answers, body.data.length]
  }
  app.clock.set(new Date(start.getTime() + 30 * DAY * 1000 - 1))
  assert.deepEqual(await seen(), [200, 200, 1])
  await sweepFiles()
  assert.equal(await rows(), 1)
  app.clock.set(new Date(start.getTime() + 30 * DAY * 1000))
  assert.deepEqual(await seen(), [404, 404, 0])
  assert.equal(await fetchStatus(`/v1/files/${id}`, 'DELETE'), 404)
})

test('the sweep removes row and bytes of what has expired and nothing else, however much there is', async () => {
  const before = app.stored()
  const short = await uploaded(app, 'x', { seconds: 3600 })
  const long = await uploaded(app, 'y', { seconds: 7200 })
  app.clock.advance(3600)
  await sweepFiles()
  assert.equal(await fetchStatus(`/v1/files/${short.id}`), 404)
  assert.equal(await fetchStatus(`/v1/files/${long.id}/content`), 200)
  assert.equal(await rows(), 1)
  assert.equal(app.stored(), before + 1)
  await app.database.pool.query(
    `insert into files select 'file-' || lpad(i::text, 26, '0'), org_id, user_id, purpose, filename, media_type, size_bytes, sha256,
       lpad(i::text, 32, '0'), probe, created_at, expires_at from files, generate_series(1, 1200) i`,
  )
  app.clock.advance(3600)
  await Promise.all([sweepFiles(), sweepFiles()])
  assert.equal(await rows(), 0)
  assert.equal(app.stored(), before)
})

test('bytes that no row knows stay for a day and are gone within an hour after it, those of rows stay, and an upload that was never finished is gone within an hour', async () => {
  const before = app.stored()
  const file = await uploaded(app, 'x')
  const orphan = await app.ctx.blobs.write(bytes(10), { max_bytes: 10 })
  const theirs = await app.ctx.blobs.write(bytes(10), { max_bytes: 10 })
  await app.ctx.blobs.stage(bytes(10), { max_bytes: 10 })
  const sweep = orphanSweep(app.ctx, [known, async () => new Set([theirs.key])])
  await sweep.run()
  await stagedSweep(app.ctx).run()
  assert.equal(app.stored(), before + 4)
  app.clock.set(new Date(Date.now() + (3600 - sweep.every_seconds) * 1000))
  await sweep.run()
  await stagedSweep(app.ctx).run()
  assert.equal(app.stored(), before + 3)
  app.clock.set(new Date(Date.now() + (DAY - 60) * 1000))
  await sweep.run()
  await stagedSweep(app.ctx).run()
  assert.equal(app.stored(), before + 3)
  app.clock.set(new Date(Date.now() + (DAY + 3600 - sweep.every_seconds) * 1000))
  await sweep.run()
  await stagedSweep(app.ctx).run()
  assert.equal(app.stored(), before + 2)
  assert.equal(await app.ctx.blobs.remove(orphan.key), false)
  assert.equal(await fetchStatus(`/v1/files/${file.id}/content`), 200)
  assert.equal(await app.ctx.blobs.remove(theirs.key), true)
})

test('the orphan sweep removes nothing where the blobs carry no identity, or that of another database', async () => {
  const { blobs } = app.ctx
  const ours = (await blobs.mark())!
  const before = app.stored()
  await blobs.write(bytes(10), { max_bytes: 10 })
  await blobs.stage(bytes(10), { max_bytes: 10 })
  app.clock.set(new Date(Date.now() + 2 * DAY * 1000))
  try {
    await blobs.setMark({ ...ours, installation_id: 'inst_another' })
    await sweepOrphans()
    assert.equal(app.stored(), before + 2)
    await unlink(join(app.root, 'installation.json'))
    await sweepOrphans()
    assert.equal(app.stored(), before + 2 - 1)
  } finally {
    await blobs.setMark(ours)
  }
  await sweepOrphans()
  assert.equal(app.stored(), before)
})

test('the orphan sweep checks more blobs than fit into one query', async () => {
  const before = app.stored()
  const file = await uploaded(app, 'x')
  for (let i = 0; i < 510; i++) await app.ctx.blobs.write(bytes(1), { max_bytes: 1 })
  app.clock.set(new Date(Date.now() + 25 * 3600 * 1000))
  await sweepOrphans()
  assert.equal(app.stored(), before + 1)
  assert.equal(await fetchStatus(`/v1/files/${file.id}/content`), 200)
})

test('a file cannot be changed, not even in the database', async () => {
  await uploaded(app, 'x')
  await assert.rejects(app.database.pool.query("update files set sha256 = repeat('0', 64)"), /immutable/)
  await assert.rejects(
    app.database.pool.query("update files set expires_at = expires_at + interval '1 day'"),
    /immutable/,
  )
})

async function fetchStatus(path: string, method = 'GET'): Promise<number> {
  const response = await fetch(app.url + path, { method, headers: { authorization: `Bearer ${app.key}` } })
  await response.arrayBuffer()
  return response.status
}
