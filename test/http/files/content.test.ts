import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { signFileUrl } from '../../../server/files/sign.ts'
import { findFiles } from '../../../server/files/store/files.ts'
import { samplePicture } from '../../support/data/media.ts'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import { bearer, send } from '../../support/http/send.ts'

let app: FilesApp
let picture: Uint8Array
let id: string
let etag: string
before(async () => {
  app = await startFiles()
  picture = await samplePicture('png')
  id = (await uploaded(app, picture, { purpose: 'vision', filename: 'a.png' })).id
  etag = `"${createHash('sha256').update(picture).digest('hex')}"`
})
after(() => app.close())

async function get(file: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(`${app.url}/v1/files/${file}/content`, {
    method,
    headers: { ...bearer(app.key), ...headers },
  })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

function ownHeaders(headers: Headers): Record<string, string> {
  const skipped = ['date', 'connection', 'keep-alive', 'x-request-id']
  return Object.fromEntries([...headers].filter(([name]) => !skipped.includes(name)))
}

test('200 with the very bytes and headers that keep browsers from sniffing, running or caching them', async () => {
  const { status, headers, bytes } = await get(id)
  assert.equal(status, 200)
  assert.ok(bytes.equals(picture))
  assert.match(headers.get('x-request-id')!, /^req_/)
  assert.deepEqual(ownHeaders(headers), {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    'content-disposition': 'attachment; filename="a.png"',
    'content-length': String(picture.length),
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': 'image/png',
    etag,
    'x-content-type-options': 'nosniff',
  })
})

test('200 with the bytes for a proxy that offers to send them itself, where the operator has not allowed it', async () => {
  const { headers, bytes } = await get(id, { 'x-sendfile-type': 'X-Accel-Redirect' })
  assert.equal(headers.get('x-accel-redirect'), null)
  assert.ok(bytes.equals(picture))
})

test('HEAD has the headers of GET and no body, ranges or not', async () => {
  const whole = await get(id)
  for (const range of [{}, { range: 'bytes=0-1' }] as Record<string, string>[]) {
    const head = await get(id, range, 'HEAD')
    assert.equal(head.status, 200)
    assert.equal(head.bytes.length, 0)
    assert.deepEqual(ownHeaders(head.headers), ownHeaders(whole.headers))
  }
})

test('206 with Content-Range for one range, at both ends and beyond the last byte', async () => {
  const size = picture.length
  const ranges: ReadonlyArray<[range: string, start: number, end: number]> = [
    ['bytes=0-0', 0, 0],
    ['bytes=10-19', 10, 19],
    [`bytes=${size - 1}-`, size - 1, size - 1],
    [`bytes=0-${size + 100}`, 0, size - 1],
    ['bytes=-5', size - 5, size - 1],
    [`bytes=-${size + 1}`, 0, size - 1],
  ]
  for (const [range, start, end] of ranges) {
    const { status, headers, bytes } = await get(id, { range })
    assert.equal(status, 206, range)
    assert.equal(headers.get('content-range'), `bytes ${start}-${end}/${size}`)
    assert.equal(headers.get('content-length'), String(end - start + 1))
    assert.ok(bytes.equals(picture.subarray(start, end + 1)))
  }
})

test('200 with the whole file for several ranges and for an invalid one', async () => {
  for (const range of ['bytes=0-0,5-6', 'bytes=0-0, -1', 'items=0-1', 'bytes=9-3', 'bytes=x']) {
    const { status, bytes } = await get(id, { range })
    assert.equal(status, 200, range)
    assert.ok(bytes.equals(picture))
  }
})

test('416 with the size and an error envelope for a range outside', async () => {
  for (const range of [`bytes=${picture.length}-`, 'bytes=99999999999999999999-', 'bytes=-0']) {
    const { status, headers, bytes } = await get(id, { range })
    assert.equal(status, 416, range)
    assert.equal(headers.get('content-range'), `bytes */${picture.length}`)
    assert.match(headers.get('content-type')!, /^application\/json/)
    assert.equal(JSON.parse(bytes.toString()).error.code, 'range_not_satisfiable')
  }
})

test('304 without a body for If-None-Match, and a range only when If-Range matches', async () => {
  const unchanged = await get(id, { 'if-none-match': `W/"x", ${etag}` })
  assert.equal(unchanged.status, 304)
  assert.equal(unchanged.bytes.length, 0)
  assert.equal(unchanged.headers.get('etag'), etag)
  assert.equal((await get(id, { 'if-none-match': '"x"' })).status, 200)
  assert.equal((await get(id, { range: 'bytes=0-1', 'if-range': etag })).status, 206)
  assert.equal((await get(id, { range: 'bytes=0-1', 'if-range': '"x"' })).status, 200)
})

test('the connection goes on after 304, 416, HEAD and a body', async () => {
  const connection = await rawConnection(app.url)
  const ask = (method: string, extra: string) =>
    connection.write(
      `${method} /v1/files/${id}/content HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\n${extra}\r\n`,
    )
  await ask('GET', `if-none-match: ${etag}\r\n`)
  assert.equal((await connection.answer({ bodiless: true })).status, 304)
  await ask('HEAD', '')
  assert.equal((await connection.answer({ bodiless: true })).status, 200)
  await ask('GET', 'range: bytes=9999999-\r\n')
  assert.equal((await connection.answer()).status, 416)
  await ask('GET', 'range: bytes=0-3\r\n')
  assert.deepEqual((await connection.answer()).body, Buffer.from(picture.subarray(0, 4)))
  connection.close()
})

test('a name outside ASCII is sent in both forms', async () => {
  const file = await uploaded(app, 'x', { filename: "夏'(1).txt" })
  const { headers } = await get(file.id)
  const full = "filename*=UTF-8''%E5%A4%8F%27%281%29.txt"
  assert.equal(headers.get('content-disposition'), `attachment; filename="_'(1).txt"; ${full}`)
})

test('a reader who stops half way holds a buffer, not the file, and others are served', async () => {
  const bytes = randomBytes(60_000_000)
  const large = await uploaded(app, bytes)
  const before = process.memoryUsage().rss
  const stalled = await Promise.all(Array.from({ length: 10 }, () => rawConnection(app.url)))
  for (const connection of stalled) {
    connection.socket.pause()
    await connection.write(
      `GET /v1/files/${large.id}/content HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\n\r\n`,
    )
  }
  const { bytes: received } = await get(large.id, { range: 'bytes=1000-1999' })
  assert.ok(received.equals(bytes.subarray(1000, 2000)))
  assert.ok(process.memoryUsage().rss - before < 200_000_000, 'ten stalled readers of 60 MB must not hold 600 MB')
  for (const connection of stalled) connection.close()
  assert.ok((await get(large.id)).bytes.equals(bytes))
})

test('an organization has 256 readers at a time: a further one waits for one of them, or leaves; others and its engines are served', async (t) => {
  const foreign = await uploaded({ url: app.url, key: app.rival.key }, 'of another organization')
  const { send: sendBlob } = app.ctx.blobs
  t.after(() => {
    app.ctx.blobs.send = sendBlob
  })
  const begun: Array<() => void> = []
  const full = Promise.withResolvers<void>()
  app.ctx.blobs.send = async (...given) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (begun.push(resolve) === 256) full.resolve()
    await promise
    return sendBlob(...given)
  }
  const readers = Array.from({ length: 256 }, () => get(id))
  await full.promise
  const leaving = new AbortController()
  const left = fetch(`${app.url}/v1/files/${id}/content`, { headers: bearer(app.key), signal: leaving.signal })
  const waiting = get(id)
  // Answered after both have arrived.
  assert.equal((await get(id, {}, 'HEAD')).status, 200)
  assert.equal(begun.length, 256)
  app.ctx.blobs.send = sendBlob
  const other = await fetch(`${app.url}/v1/files/${foreign.id}/content`, { headers: bearer(app.rival.key) })
  assert.equal(await other.text(), 'of another organization')
  const now = app.clock.now()
  const file = (await findFiles(app.ctx.db, { org_id: app.org_id, ids: [id], now })).get(id)!
  const signed = signFileUrl({ secret: app.ctx.secret, base_url: app.url, file, now, ttl_seconds: 900 })
  assert.ok(Buffer.from(await (await fetch(signed)).arrayBuffer()).equals(picture))
  leaving.abort()
  await assert.rejects(left)
  begun.shift()!()
  assert.ok((await waiting).bytes.equals(picture))
  for (const release of begun) release()
  for (const { bytes } of await Promise.all(readers)) assert.ok(bytes.equals(picture))
})

test('404 for a file deleted while it was about to be sent, 500 when only its bytes are lost', async () => {
  const file = await uploaded(app, 'x')
  const { rows } = await app.database.pool.query('select blob_key from files where id = $1', [file.id])
  const key: string = rows[0].blob_key
  await rm(join(app.root, key.slice(0, 2), key))
  const lost = await get(file.id)
  assert.equal(lost.status, 500)
  assert.equal(lost.headers.get('content-disposition'), null)
  assert.equal(lost.headers.get('etag'), null)
  assert.equal(JSON.parse(lost.bytes.toString()).error.code, 'server_error')
  assert.equal((await send(app, 'DELETE', `/v1/files/${file.id}`, app)).status, 200)
  assert.equal((await get(file.id)).status, 404)
})
