import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isSignedFor, signFileUrl } from '../../../server/files/sign.ts'
import { findFiles } from '../../../server/files/store/files.ts'
import { samplePicture } from '../../support/data/media.ts'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'
import { send } from '../../support/http/send.ts'

let app: FilesApp
let picture: Uint8Array
before(async () => {
  app = await startFiles()
  picture = await samplePicture('png')
})
after(() => app.close())

/** Uploads a picture and signs it for 900 s. */
async function signed(ttl_seconds = 900): Promise<{ id: string; url: string }> {
  const { id } = await uploaded(app, picture, { purpose: 'vision', filename: 'a.png' })
  const now = app.clock.now()
  const file = (await findFiles(app.ctx.db, { org_id: app.org_id, ids: [id], now })).get(id)!
  return { id, url: signFileUrl({ secret: app.ctx.secret, base_url: app.url, file, now, ttl_seconds }) }
}

async function assertForbidden(url: string, method = 'GET'): Promise<void> {
  const response = await fetch(url, { method })
  const text = await response.text()
  assert.equal(response.status, 403, url)
  if (method === 'HEAD') return
  assert.deepEqual(JSON.parse(text), {
    error: {
      message: 'This link is not valid or no longer valid.',
      type: 'permission_error',
      param: null,
      code: 'invalid_signature',
    },
  })
}

test('200 inline with the stored type, without any credential, and HEAD and ranges too', async () => {
  const { url } = await signed()
  const response = await fetch(url)
  assert.equal(response.status, 200)
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(picture))
  const shown = ['content-type', 'content-disposition', 'referrer-policy', 'x-content-type-options', 'cache-control']
  assert.deepEqual(Object.fromEntries(shown.map((name) => [name, response.headers.get(name)])), {
    'content-type': 'image/png',
    'content-disposition': 'inline; filename="a.png"',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  })
  const head = await fetch(url, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal(head.headers.get('content-length'), String(picture.length))
  const range = await fetch(url, { headers: { range: 'bytes=0-3' } })
  assert.equal(range.status, 206)
  assert.equal((await range.arrayBuffer()).byteLength, 4)
})

test('a signed URL ends with the ending of the type; one of version 0.1.0, which has none, is served too', async () => {
  const { url } = await signed()
  assert.match(new URL(url).pathname, /\/signed\/file\.png$/)
  assert.equal((await fetch(url.replace('/signed/file.png?', '/signed?'))).status, 200)
})

test('403 when any byte of id, expiry, key or signature is changed, dropped, added or swapped in case', async () => {
  const { url } = await signed()
  // Changes of the path itself lead to other routes; the file's id and the whole query are signed.
  const signedParts = [
    [url.indexOf('file-'), url.indexOf('/signed')],
    [url.indexOf('?') + 1, url.length],
  ] as const
  let tried = 0
  for (const [from, to] of signedParts) {
    for (let at = from; at < to; at++) {
      for (const flip of [String.fromCharCode(url.charCodeAt(at) ^ 1), swapCase(url[at]!), '']) {
        if (flip === url[at] || '/?#'.includes(flip || '.')) continue
        await assertForbidden(url.slice(0, at) + flip + url.slice(at + 1))
        tried++
      }
    }
  }
  assert.ok(tried > 200, `${tried} changes`)
  await assertForbidden(`${url}A`)
  await assertForbidden(url.split('?')[0]!)
  await assertForbidden(`${url}&signature=x`)
  assert.equal((await fetch(url)).status, 200)
})

test('403 from the very second of expiry, 200 the second before', async () => {
  const { url } = await signed(60)
  const start = app.clock.now()
  const second = Math.floor(start.getTime() / 1000) * 1000
  app.clock.set(new Date(second + 59_999))
  assert.equal((await fetch(url)).status, 200)
  app.clock.set(new Date(second + 60_000))
  await assertForbidden(url)
  app.clock.set(new Date(second + 61_000))
  await assertForbidden(url, 'HEAD')
  app.clock.set(start)
})

test('a signing clock up to 60 s ahead is tolerated, a life beyond 15 minutes is not', () => {
  const secret = 's'.repeat(32)
  const file = {
    id: 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV',
    org_id: 'acme',
    sha256: 'a'.repeat(64),
    media_type: 'image/png',
  }
  const now = new Date(1_790_000_000_000)
  const url = new URL(signFileUrl({ secret, base_url: 'http://x', file, now, ttl_seconds: 900 }))
  const query = Object.fromEntries(url.searchParams)
  const goodAt = (seconds: number) =>
    isSignedFor({ secrets: [secret], file, method: 'GET', query, now: new Date(now.getTime() + seconds * 1000) })
  assert.deepEqual([-61, -60, 0, 899, 900, 901].map(goodAt), [false, true, true, true, false, false])
  for (const ttl_seconds of [0, -1, 901, 1.5]) {
    assert.throws(() => signFileUrl({ secret, base_url: 'http://x', file, now, ttl_seconds }), /1 to 900/)
  }
})

test('a URL that is bound to a pin may live a week, and is good for that pin alone', () => {
  const secret = 's'.repeat(32)
  const file = {
    id: 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV',
    org_id: 'acme',
    sha256: 'a'.repeat(64),
    media_type: 'image/png',
  }
  const now = new Date(1_790_000_000_000)
  const sign = (ttl_seconds: number) =>
    signFileUrl({ secret, base_url: 'http://x', file, now, ttl_seconds, pin: 'video_1' })
  const query = Object.fromEntries(new URL(sign(604_800)).searchParams)
  const good = { secrets: [secret], file, method: 'GET', query, now }
  assert.equal(isSignedFor(good), true)
  for (const pin of ['video_2', undefined, '', ['video_1']])
    assert.equal(isSignedFor({ ...good, query: { ...query, pin } }), false)
  assert.throws(() => sign(604_801), /1 to 604800/)
})

test('a signature is bound to file, organization, bytes, method and secret', () => {
  const secret = 's'.repeat(32)
  const file = {
    id: 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV',
    org_id: 'acme',
    sha256: 'a'.repeat(64),
    media_type: 'image/png',
  }
  const now = new Date(1_790_000_000_000)
  const url = new URL(signFileUrl({ secret, base_url: 'http://x', file, now, ttl_seconds: 900 }))
  const good = { secrets: [secret], file, method: 'GET', query: Object.fromEntries(url.searchParams), now }
  assert.equal(isSignedFor(good), true)
  assert.equal(isSignedFor({ ...good, method: 'HEAD' }), true)
  assert.equal(isSignedFor({ ...good, secrets: ['t'.repeat(32), secret] }), true)
  const others = [
    { ...good, file: { ...file, id: 'file-01ARZ3NDEKTSV4RRFFQ69G5FAW' } },
    { ...good, file: { ...file, org_id: 'rival' } },
    { ...good, file: { ...file, sha256: 'b'.repeat(64), media_type: 'image/png' } },
    { ...good, method: 'DELETE' },
    { ...good, secrets: ['t'.repeat(32)] },
    { ...good, secrets: [] },
    { ...good, query: {} },
    { ...good, query: { ...good.query, expires: `0${good.query.expires}` } },
    { ...good, query: { ...good.query, expires: [good.query.expires] } },
  ]
  for (const other of others) assert.equal(isSignedFor(other), false)
})

test('403 for another file under the same signature, and for a file that was deleted or has expired', async () => {
  const [one, other] = [await signed(), await signed()]
  await assertForbidden(one.url.replace(one.id, other.id))
  await send(app, 'DELETE', `/v1/files/${one.id}`, app)
  await assertForbidden(one.url)
  await app.database.pool.query('alter table files disable trigger files_immutable')
  await app.database.pool.query('update files set sha256 = $1 where id = $2', ['0'.repeat(64), other.id])
  await app.database.pool.query('alter table files enable trigger files_immutable')
  await assertForbidden(other.url)
})

test('403 for a query that no signature covers, also one that the database cannot hold', async () => {
  const { url } = await signed()
  for (const more of ['&pin=video_1', '&pin=', '&pin=%00', '&pin=a%00b', '&pin=a&pin=b', `&pin=${'a'.repeat(4000)}`])
    await assertForbidden(url + more)
})

test('405 for any method but GET and HEAD', async () => {
  const { url } = await signed()
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) assert.equal((await fetch(url, { method })).status, 405)
})

function swapCase(character: string): string {
  return character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase()
}
