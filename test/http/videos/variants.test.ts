import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import {
  enterChild,
  freeSlots,
  WAITING_MAX,
  WAITING_OF_ONE_MAX,
} from '../../../server/media/children/concurrency-limit.ts'
import { ANY_AGE } from '../../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import { findJob } from '../../../server/videos/store.ts'
import { openVariants } from '../../../server/videos/variants/prepare.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused, submit } from '../../support/http/videos-app.ts'

const VARIANTS = ['thumbnail', 'spritesheet'] as const
type Variant = (typeof VARIANTS)[number]
const SECONDS = 5
const NOISE_BYTES = 5000

let app: TestApp
let person: TestPerson
let done: string
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  done = await completed()
})
after(() => app.close())

async function completed(): Promise<string> {
  const { id } = (await submit(app, person, { seconds: SECONDS })).body
  await app.tick()
  return id
}

async function get(id: string, variant: Variant | 'video', headers: Record<string, string> = {}, method = 'GET') {
  const url = `${app.url}/v1/videos/${id}/content?variant=${variant}`
  const answer = await fetch(url, { method, headers: { authorization: `Bearer ${person.key}`, ...headers } })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

const refused = (id: string, variant: Variant) =>
  send(app, 'GET', `/v1/videos/${id}/content?variant=${variant}`, person)

/** Blobs in the storage, whichever it is, and what is staged. */
async function stored(): Promise<number> {
  let count = readdirSync(join(app.dir, 'blobs', 'staging'), { recursive: true }).length
  for await (const _ of app.ctx.blobs.list({ older_than: ANY_AGE })) count += 1
  return count
}

async function* noise(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(NOISE_BYTES, 'noise')
}

async function rowOf(id: string) {
  const columns = ['blob_key', 'thumbnail_key', 'spritesheet_key'] as const
  return app.database.db.selectFrom('video_jobs').select(columns).where('id', '=', id).executeTakeFirstOrThrow()
}

test('200 with a WebP of 360 pixels and a JPEG of one cell a second, and exactly these headers', async () => {
  const expected = { thumbnail: ['image/webp', 'webp'], spritesheet: ['image/jpeg', 'jpg'] } as const
  for (const variant of VARIANTS) {
    const { status, headers, bytes } = await get(done, variant)
    assert.equal(status, 200)
    const { date, 'x-request-id': request_id, ...rest } = Object.fromEntries(headers)
    assert.ok(date && request_id)
    assert.deepEqual(rest, {
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-store',
      connection: 'keep-alive',
      'content-disposition': `attachment; filename="${done}.${expected[variant][1]}"`,
      'content-length': String(bytes.length),
      'content-security-policy': "default-src 'none'; sandbox",
      'content-type': expected[variant][0],
      etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
      'keep-alive': 'timeout=75',
      'x-content-type-options': 'nosniff',
    })
    const { format, width, height } = await sharp(bytes).metadata()
    const facts = { thumbnail: ['webp', 640, 360], spritesheet: ['jpeg', 4 * 320, Math.ceil(SECONDS / 4) * 180] }
    assert.deepEqual([format, width, height], facts[variant])
  }
})

test('200 for a HEAD without the body, 206 for a range, 304 for what the client has, 416 outside', async () => {
  for (const variant of VARIANTS) {
    const { bytes, headers } = await get(done, variant)
    const etag = headers.get('etag')!
    const head = await get(done, variant, {}, 'HEAD')
    assert.deepEqual([head.status, head.bytes.length, head.headers.get('content-length')], [200, 0, `${bytes.length}`])
    const part = await get(done, variant, { range: 'bytes=2-9' })
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 2-9/${bytes.length}`])
    assert.ok(part.bytes.equals(bytes.subarray(2, 10)))
    assert.equal((await get(done, variant, { 'if-none-match': etag })).status, 304)
    assert.equal((await get(done, variant, { range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
    const outside = await get(done, variant, { range: `bytes=${bytes.length}-` })
    assert.deepEqual([outside.status, outside.headers.get('content-range')], [416, `bytes */${bytes.length}`])
  }
})

const not_on_disk = process.env.KINORA_TEST_STORAGE === 's3' ? 'a bucket has no paths' : false
test('200 with the path of the blob where a proxy sends the bytes', { skip: not_on_disk }, async () => {
  const { blobs } = app.ctx
  try {
    blobs.proxyPath = diskBlobs(join(app.dir, 'blobs'), { proxied: true }).proxyPath
    const { status, headers, bytes } = await get(done, 'thumbnail', { 'x-sendfile-type': 'X-Accel-Redirect' })
    assert.deepEqual([status, bytes.length, headers.get('content-type')], [200, 0, 'image/webp'])
    assert.match(headers.get('x-accel-redirect')!, /^\/kinora-blobs\/([0-9a-f]{2})\/\1[0-9a-f]{30}$/)
  } finally {
    blobs.proxyPath = null
  }
})

test('200 for all who ask at once, with the work done once', async () => {
  const id = await completed()
  const before = await stored()
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => get(id, VARIANTS[i % 2]!)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  assert.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 2)
  assert.equal(await stored(), before + 2)
  await get(id, 'thumbnail')
  assert.equal(await stored(), before + 2)
})

test('200 after the bytes were swept away: they are made again', async () => {
  const id = await completed()
  const first = await get(id, 'spritesheet')
  const before = await stored()
  const lost = await rowOf(id)
  await app.ctx.blobs.remove(lost.spritesheet_key!)
  const again = await get(id, 'spritesheet')
  assert.deepEqual([again.status, again.headers.get('etag')], [200, first.headers.get('etag')])
  const { thumbnail_key, spritesheet_key } = await rowOf(id)
  assert.ok(thumbnail_key !== lost.thumbnail_key && spritesheet_key !== lost.spritesheet_key)
  assert.equal(await stored(), before)
})

test('they are made again also for a request that had the job from before they were first made', async () => {
  const id = await completed()
  const variants = openVariants(app.ctx)
  const job = (await findJob(app.ctx.db, person.org_id, id))!
  const lost = await variants.find(job, 'thumbnail')
  await app.ctx.blobs.remove(lost.blob_key)
  const again = await variants.replace(job, 'thumbnail', lost)
  assert.equal(await app.ctx.blobs.size(again.blob_key), lost.size_bytes)
  assert.equal((await rowOf(id)).thumbnail_key, again.blob_key)
  await variants.close()
})

test('404 for another organization as for an unknown job, and once the job is deleted, with nothing left of it', async () => {
  const other = await newCustomer(app)
  const foreign = await send(app, 'GET', `/v1/videos/${done}/content?variant=thumbnail`, other)
  const unknown = await refused('video_00000000000000000000000000', 'thumbnail')
  assertRefused(foreign, { status: 404, code: 'not_found' })
  assert.deepEqual(foreign.body, unknown.body)
  const before = await stored()
  const id = await completed()
  await get(id, 'thumbnail')
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, person)).status, 200)
  for (const variant of VARIANTS) assertRefused(await refused(id, variant), { status: 404, code: 'not_found' })
  assert.equal(await stored(), before)
})

test('404 that says so for a clip of which no picture can be made; the clip itself is there', async () => {
  const id = await completed()
  const { key } = await app.ctx.blobs.write(noise(), { max_bytes: NOISE_BYTES })
  const damage = 'update video_jobs set blob_key = $2, output_size_bytes = $3 where id = $1'
  await app.database.pool.query(damage, [id, key, NOISE_BYTES])
  app.ctx.changes.announce('video', id)
  const before = await stored()
  for (const variant of VARIANTS) {
    const message = `The ${variant} of this video could not be made. The video itself is available.`
    assertRefused(await refused(id, variant), { status: 404, code: 'not_found', message })
  }
  assert.equal((await get(id, 'video')).bytes.length, NOISE_BYTES)
  assert.equal(await stored(), before)
})

test('503 with retry-after while too many pictures wait to be made, 429 while too many of the organization do, 200 afterwards', async () => {
  const id = await completed()
  const [one, all] = [WAITING_OF_ONE_MAX, WAITING_MAX]
  const full = [
    {
      owner: person.org_id,
      places: one,
      status: 429,
      code: 'too_many_requests',
      message: /^Your organization has 32 /,
    },
    { owner: undefined, places: all, status: 503, code: 'server_is_overloaded', message: /^Too many / },
  ]
  for (const { owner, places, status, code, message } of full) {
    const gone = new AbortController()
    const running = await Promise.all(Array.from({ length: freeSlots() }, () => enterChild('variant', { owner })))
    const waiting = Array.from({ length: places }, () => enterChild('variant', { owner, signal: gone.signal }))
    const busy = await refused(id, 'thumbnail')
    gone.abort(new Error('gone'))
    for (const each of await Promise.allSettled(waiting)) if (each.status === 'fulfilled') each.value()
    for (const leave of running) leave()
    assertRefused(busy, { status, code, message, type: status === 429 ? 'rate_limit_error' : 'server_error' })
    assert.equal(busy.headers.get('retry-after'), '5')
  }
  assert.equal((await get(id, 'thumbnail')).status, 200)
})
