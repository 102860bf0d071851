import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { signFileUrl } from '../../../server/files/sign.ts'
import { findFiles } from '../../../server/files/store/files.ts'
import { pinFiles, releasePins } from '../../../server/files/store/pins.ts'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { testBucket } from '../../support/bucket/bucket.ts'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'
import { bearer } from '../../support/http/send.ts'

let app: FilesApp
const text = Buffer.from('%PDF-1.7\nBytes for an engine.')
before(async () => {
  app = await startFiles()
  const bucket = await testBucket({ presigned: true })
  app.ctx.blobs = s3Blobs(bucket, { staging_dir: join(app.root, 'staging') })
})
after(() => app.close())

async function signed(pin?: string): Promise<{ id: string; url: string }> {
  const { id } = await uploaded(app, text, { filename: 'a.pdf' })
  const now = app.clock.now()
  const file = (await findFiles(app.ctx.db, { org_id: app.org_id, ids: [id], now })).get(id)!
  if (pin !== undefined) {
    const pins = { holder: pin, org_id: app.org_id, ids: [id], now }
    await app.ctx.db.transaction().execute((tx) => pinFiles(tx, pins))
  }
  const options = { secret: app.ctx.secret, base_url: app.url, file, now, ttl_seconds: 900 }
  return { id, url: signFileUrl(pin === undefined ? options : { ...options, pin }) }
}

test('307 to the bucket for an engine, which gets the same bytes and type there, and ranges too', async () => {
  const { url } = await signed()
  const answer = await fetch(url, { redirect: 'manual' })
  assert.equal(answer.status, 307)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  assert.notEqual(new URL(answer.headers.get('location')!).origin, app.url)
  const followed = await fetch(url)
  assert.equal(followed.headers.get('content-type'), 'application/pdf')
  assert.ok(Buffer.from(await followed.arrayBuffer()).equals(text))
  const part = await fetch(url, { headers: { range: 'bytes=0-3' } })
  assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, 4])
})

test('200 for HEAD, which a URL signed for GET does not allow at the bucket', async () => {
  const { url } = await signed()
  const head = await fetch(url, { method: 'HEAD', redirect: 'manual' })
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(text.length)])
})

test('403 from the moment its job has ended: no presigned URL is made any more', async () => {
  const { url } = await signed('video_1')
  assert.equal((await fetch(url, { redirect: 'manual' })).status, 307)
  const released = { holders: ['video_1'], now: app.clock.now() }
  await app.ctx.db.transaction().execute((tx) => releasePins(tx, released))
  assert.equal((await fetch(url, { redirect: 'manual' })).status, 403)
})

test('a client with an API key is sent the bytes and never to the bucket, so its key goes nowhere else', async () => {
  const { id } = await uploaded(app, text, { filename: 'a.pdf' })
  const plain = await fetch(`${app.url}/v1/files/${id}/content`, { headers: bearer(app.key), redirect: 'manual' })
  assert.equal(plain.status, 200)
  assert.match(plain.headers.get('etag')!, /^"[0-9a-f]{64}"$/)
  const client = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 0 })
  const content = await client.files.content(id)
  assert.ok(Buffer.from(await content.arrayBuffer()).equals(text))
  assert.equal(content.url, `${app.url}/v1/files/${id}/content`)
})

test('503 with retry-after, and nothing of the bucket in the answer, while it is away', async (t) => {
  const { id } = await uploaded(app, text, { filename: 'a.pdf' })
  const here = app.ctx.blobs
  const away = createServer((request) => void request.socket.destroy()).listen(0, '127.0.0.1')
  await once(away, 'listening')
  t.after(() => {
    app.ctx.blobs = here
    away.close()
  })
  const endpoint = `http://127.0.0.1:${(away.address() as AddressInfo).port}`
  const bucket = { ...(await testBucket()), endpoint }
  app.ctx.blobs = s3Blobs(bucket, { staging_dir: join(app.root, 'staging') })
  const form = new FormData()
  form.set('file', new File(['x'], 'a.pdf'))
  form.set('purpose', 'user_data')
  const upload = await fetch(`${app.url}/v1/files`, { method: 'POST', headers: bearer(app.key), body: form })
  const download = await fetch(`${app.url}/v1/files/${id}/content`, { headers: bearer(app.key) })
  for (const answer of [upload, download]) {
    const body = await answer.text()
    assert.equal(answer.status, 503, body)
    assert.equal(JSON.parse(body).error.code, 'server_is_overloaded')
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
    assert.ok(!body.includes(bucket.bucket) && !body.includes(endpoint))
  }
  const deleted = await fetch(`${app.url}/v1/files/${id}`, { method: 'DELETE', headers: bearer(app.key) })
  assert.equal(deleted.status, 200)
})
