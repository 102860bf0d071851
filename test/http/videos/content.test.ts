import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, submit } from '../../support/http/videos-app.ts'

const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
const ETAG = `"${createHash('sha256').update(CLIP).digest('hex')}"`

let app: TestApp
let person: TestPerson
let done: string
let running: string
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  done = (await submit(app, person)).body.id
  await app.tick()
  running = (await submit(app, person)).body.id
})
after(() => app.close())

async function content(headers: Record<string, string> = {}, method = 'GET', query = '') {
  const answer = await fetch(`${app.url}/v1/videos/${done}/content${query}`, {
    method,
    headers: { authorization: `Bearer ${person.key}`, ...headers },
  })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

test('200 with the very MP4 and exactly these headers, no redirect', async () => {
  const { status, headers, bytes } = await content()
  assert.equal(status, 200)
  assert.ok(bytes.equals(CLIP))
  const { date, 'x-request-id': request_id, ...rest } = Object.fromEntries(headers)
  assert.ok(date && request_id)
  assert.deepEqual(rest, {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    connection: 'keep-alive',
    'content-disposition': `attachment; filename="${done}.mp4"`,
    'content-length': String(CLIP.length),
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': 'video/mp4',
    etag: ETAG,
    'keep-alive': 'timeout=75',
    'x-content-type-options': 'nosniff',
  })
})

test('200 with variant=video, for a HEAD without the body, and whatever is accepted or encoded', async () => {
  assert.ok((await content({}, 'GET', '?variant=video')).bytes.equals(CLIP))
  const head = await content({}, 'HEAD')
  assert.deepEqual([head.status, head.bytes.length, head.headers.get('content-length')], [200, 0, String(CLIP.length)])
  const odd = await content({ accept: 'application/binary', 'accept-encoding': 'gzip, br' })
  assert.equal(odd.headers.get('content-encoding'), null)
  assert.ok(odd.bytes.equals(CLIP))
})

test('206 for one range, the whole file for several or for an invalid one, 416 outside', async () => {
  const size = CLIP.length
  const partial: ReadonlyArray<[range: string, first: number, last: number]> = [
    ['bytes=0-0', 0, 0],
    ['bytes=10-99', 10, 99],
    [`bytes=${size - 1}-`, size - 1, size - 1],
    ['bytes=100-999999999', 100, size - 1],
    ['bytes=-50', size - 50, size - 1],
    ['bytes=-999999999', 0, size - 1],
  ]
  for (const [range, first, last] of partial) {
    const { status, headers, bytes } = await content({ range })
    assert.equal(status, 206, range)
    assert.equal(headers.get('content-range'), `bytes ${first}-${last}/${size}`)
    assert.equal(headers.get('content-length'), String(last - first + 1))
    assert.ok(bytes.equals(CLIP.subarray(first, last + 1)))
  }
  for (const range of ['bytes=0-1,5-6', 'bytes=5-1', 'bytes=x-', 'items=0-1', 'bytes=-', '']) {
    const { status, bytes } = await content({ range })
    assert.deepEqual([status, bytes.length], [200, size], range)
  }
  for (const range of [`bytes=${size}-`, 'bytes=-0', 'bytes=99999999999999999999-']) {
    const outside = await send(app, 'GET', `/v1/videos/${done}/content`, { key: person.key, headers: { range } })
    assertRefused(outside, { status: 416, code: 'range_not_satisfiable' })
    assert.equal(outside.headers.get('content-range'), `bytes */${size}`)
  }
  const head = await content({ range: 'bytes=0-0' }, 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(size)])
})

test('304 if the client has the current version, and If-Range gives a range only of the same bytes', async () => {
  for (const tag of [ETAG, `W/${ETAG}`, '*', `"x", ${ETAG}`]) {
    const known = await content({ 'if-none-match': tag })
    assert.deepEqual([known.status, known.bytes.length, known.headers.get('etag')], [304, 0, ETAG], tag)
  }
  assert.equal((await content({ 'if-none-match': '"other"' })).status, 200)
  assert.equal((await content({ range: 'bytes=0-1', 'if-range': ETAG })).status, 206)
  assert.equal((await content({ range: 'bytes=0-1', 'if-range': `W/${ETAG}` })).status, 200)
  assert.equal((await content({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
})

test('400 until the job is completed, naming its status', async () => {
  const get = (id: string, query = '') => send(app, 'GET', `/v1/videos/${id}/content${query}`, person)
  assertInvalid(await get(running), null, 'This job is moderating; it has content once it is completed.')
  for (const status of ['translating', 'queued', 'in_progress']) {
    await app.database.pool.query('update video_jobs set status = $1 where id = $2', [status, running])
    app.ctx.changes.announce('video', running)
    assertInvalid(await get(running), null, `This job is ${status}; it has content once it is completed.`)
  }
  const canceled = (await submit(app, person)).body.id
  await send(app, 'POST', `/v1/videos/${canceled}/cancel`, person)
  assertInvalid(await get(canceled), null, 'This job is canceled; it has content once it is completed.')
})

test('404, then the variant, then the status decide', async () => {
  const get = (id: string, variant: string) => send(app, 'GET', `/v1/videos/${id}/content?variant=${variant}`, person)
  assertRefused(await get('video_00000000000000000000000000', 'thumbnail'), { status: 404, code: 'not_found' })
  for (const id of [running, done]) {
    for (const variant of ['x', '', 'VIDEO', 'thumbnails', 'video&variant=video', 'thumbnail&variant=video']) {
      assertInvalid(await get(id, variant), 'variant')
    }
  }
  const supported = "Supported values are: 'video', 'thumbnail', and 'spritesheet'."
  assertInvalid(await get(running, 'gif'), 'variant', `Invalid value: 'gif'. ${supported}`)
  for (const variant of ['video', 'thumbnail', 'spritesheet']) {
    assertInvalid(await get(running, variant), null, /^This job is \w+; it has content once it is completed\.$/)
  }
})

test('404 once the job is deleted, and when its bytes are gone', async () => {
  const { id } = (await submit(app, person)).body
  await app.tick()
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, person)).status, 200)
  assertRefused(await send(app, 'GET', `/v1/videos/${id}/content`, person), { status: 404, code: 'not_found' })
  const lost = (await submit(app, person)).body.id
  await app.tick()
  const { blob_key } = await app.database.db
    .selectFrom('video_jobs')
    .select('blob_key')
    .where('id', '=', lost)
    .executeTakeFirstOrThrow()
  await app.ctx.blobs.remove(blob_key!)
  const gone = await send(app, 'GET', `/v1/videos/${lost}/content`, person)
  assertRefused(gone, { status: 404, code: 'not_found' })
  assert.equal(gone.headers.get('content-disposition'), null)
})
