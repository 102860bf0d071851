import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'
import { startNginx, withoutNginx } from '../../support/http/nginx.ts'
import { bearer } from '../../support/http/send.ts'

const BYTES = randomBytes(3_000_000)
const FROM_NGINX = { 'x-sendfile-type': 'X-Accel-Redirect' }

let app: FilesApp
let id: string
before(async () => {
  app = await startFiles({
    config: '{ content_delivery: x-accel, plans: { free: { requests_per_minute: 10000 } } }',
  })
  id = (await uploaded(app, BYTES, { filename: 'a.txt' })).id
})
after(() => app.close())

async function get(base: string, headers: Record<string, string> = {}, { key = app.key, method = 'GET' } = {}) {
  const response = await fetch(`${base}/v1/files/${id}/content`, { method, headers: { ...bearer(key), ...headers } })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

test('200 with a path and no bytes for a proxy that offers to send them', async () => {
  const { status, headers, bytes } = await get(app.url, { ...FROM_NGINX, range: 'bytes=5-9' })
  assert.equal(status, 200)
  assert.match(headers.get('x-accel-redirect')!, /^\/kinora-blobs\/([0-9a-f]{2})\/\1[0-9a-f]{30}$/)
  assert.equal(headers.get('content-range'), null)
  assert.equal(bytes.length, 0)
})

test('200 with the bytes for a request that comes past the proxy', async () => {
  assert.ok((await get(app.url)).bytes.equals(BYTES))
})

test('no path for a caller who may not read the file, for HEAD, for 304 and for 416', async () => {
  const etag = (await get(app.url)).headers.get('etag')!
  const answers = [
    { status: 404, answer: await get(app.url, FROM_NGINX, { key: app.rival.key }) },
    { status: 200, answer: await get(app.url, FROM_NGINX, { method: 'HEAD' }) },
    { status: 304, answer: await get(app.url, { ...FROM_NGINX, 'if-none-match': etag }) },
    { status: 416, answer: await get(app.url, { ...FROM_NGINX, range: 'bytes=3000000-' }) },
  ]
  for (const { status, answer } of answers) {
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('x-accel-redirect'), null)
  }
})

test('nginx, as deploy/nginx.conf configures it, answers as the service does', { skip: withoutNginx }, async () => {
  const nginx = await startNginx(deployedLocations({ upstream: app.url, blobs: app.root }))
  try {
    const etag = (await get(app.url)).headers.get('etag')!
    for (const [headers, method] of [
      [{}, 'GET'],
      [{}, 'HEAD'],
      [{ range: 'bytes=0-0' }, 'GET'],
      [{ range: 'bytes=1000000-1999999' }, 'GET'],
      [{ range: 'bytes=-5' }, 'GET'],
      [{ range: 'bytes=2999990-9999999' }, 'GET'],
      [{ range: 'bytes=3000000-' }, 'GET'],
      [{ range: 'bytes=7-9', 'if-range': etag }, 'GET'],
      [{ range: 'bytes=7-9', 'if-range': '"another"' }, 'GET'],
      [{ range: 'lines=1-2' }, 'GET'],
      [{ range: 'bytes=0-1,5-6' }, 'GET'],
      [{ 'if-none-match': etag }, 'GET'],
      [{ 'if-modified-since': new Date(Date.now() + 86_400_000).toUTCString() }, 'GET'],
    ] as Array<[Record<string, string>, string]>) {
      const own = await get(app.url, headers, { method })
      const sent = await get(nginx.url, headers, { method })
      const what = `${method} ${JSON.stringify(headers)}`
      assert.equal(sent.status, own.status, what)
      assert.equal(sent.headers.get('x-ratelimit-limit-requests'), '10000', what)
      assert.ok(own.status >= 400 || sent.bytes.equals(own.bytes), what)
      // nginx leaves `Accept-Ranges` out of a range.
      const { 'accept-ranges': ranges, ...others } = shownHeaders(own.headers)
      const expected = own.status === 206 || ranges === undefined ? others : { ...others, 'accept-ranges': ranges }
      assert.deepEqual(shownHeaders(sent.headers), expected, what)
    }
    assert.equal((await get(nginx.url, {}, { key: app.rival.key })).status, 404)
    const inside = (await get(app.url, FROM_NGINX)).headers.get('x-accel-redirect')
    assert.equal((await fetch(`${nginx.url}${inside}`)).status, 404)
  } finally {
    await nginx.stop()
  }
})

test('500, not an empty answer, for a file whose bytes are lost', async () => {
  const file = await uploaded(app, 'x')
  const { rows } = await app.database.pool.query('select blob_key from files where id = $1', [file.id])
  const key: string = rows[0].blob_key
  await rm(join(app.root, key.slice(0, 2), key))
  const response = await fetch(`${app.url}/v1/files/${file.id}/content`, {
    headers: { ...bearer(app.key), ...FROM_NGINX },
  })
  assert.equal(response.status, 500)
  assert.equal(response.headers.get('x-accel-redirect'), null)
})

function deployedLocations({ upstream, blobs }: { upstream: string; blobs: string }): string {
  const file = readFileSync(join(import.meta.dirname, '../../../deploy/nginx.conf'), 'utf8')
  const locations = file.match(/^ {4}location [\s\S]*?^ {4}\}/gm)!.join('\n')
  return locations
    .replace('http://kinora;', `${upstream};`)
    .replace('$kinora_connection', "''")
    .replace('/var/lib/kinora/blobs/', `${blobs}/`)
}

/** All but what names the moment, the request or the connection, or who sent it. */
function shownHeaders(headers: Headers): Record<string, string> {
  const skipped = [
    'date',
    'connection',
    'keep-alive',
    'x-request-id',
    'server',
    'transfer-encoding',
    'strict-transport-security',
  ]
  const shown = [...headers].filter(([name]) => !skipped.includes(name))
  // What is left of the allowance changes with each request.
  return Object.fromEntries(shown.map(([name, value]) => [name, name.startsWith('x-ratelimit-re') ? 'some' : value]))
}
