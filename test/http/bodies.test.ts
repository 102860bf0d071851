import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Route } from '../../server/identity/caller/route.ts'
import { openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { OPEN_BODY_BYTES_MAX } from '../../server/platform/http/body/parsers.ts'
import { JSON_DEPTH_MAX, JSON_VALUES_MAX } from '../../server/platform/json/scan.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { multipart, type RawAnswer, rawConnection } from '../support/http/raw-http.ts'
import { assertInvalid, assertRefused, sendRaw } from '../support/http/videos-app.ts'

const MEBIBYTE = 1024 * 1024
let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const isOpen = ({ auth }: Route) => auth === 'none' || auth === 'signed_url'
const pathOf = ({ path }: Route) => path.replace(/:\w+/g, 'x')

/** The answer to a head whose body never comes: who waits for the body has none to give. */
async function answerToHead(...lines: string[]): Promise<RawAnswer> {
  const connection = await rawConnection(app.url)
  await connection.write([...lines, 'host: kinora', '', ''].join('\r\n'))
  connection.socket.end()
  const answer = await connection.answer()
  connection.close()
  return answer
}

const codeOf = ({ body }: RawAnswer) => JSON.parse(String(body)).error.code

test('404 for an unknown URL before its body arrives, and the connection does not wait for it', async () => {
  const sizes = [`content-length: ${40 * MEBIBYTE}`, 'transfer-encoding: chunked', `content-length: ${200 * MEBIBYTE}`]
  for (const size of sizes) {
    for (const method of ['POST', 'PUT', 'DELETE', 'GET']) {
      for (const type of ['application/json', 'multipart/form-data; boundary=x', 'text/plain']) {
        const answer = await answerToHead(`${method} /nonexistent HTTP/1.1`, `content-type: ${type}`, size)
        assert.deepEqual([answer.status, codeOf(answer), answer.headers.connection], [404, 'unknown_url', 'close'])
      }
    }
  }
})

test('401 before the body arrives on every route with a credential', async () => {
  for (const endpoint of app.app.routes.filter((each) => !isOpen(each))) {
    for (const credential of ['x: y', 'authorization: Bearer wrong']) {
      const type = endpoint.accepts?.includes('multipart') ? 'multipart/form-data; boundary=x' : 'application/json'
      const head = [`${endpoint.method} ${pathOf(endpoint)} HTTP/1.1`, `content-type: ${type}`, credential]
      const answer = await answerToHead(...head, `content-length: ${40 * MEBIBYTE}`)
      assert.deepEqual([answer.status, answer.headers.connection], [401, 'close'], head.join())
    }
  }
})

test('405, and the answers of routes that take no body, come before the body of the request arrives', async () => {
  const large = `content-length: ${40 * MEBIBYTE}`
  assert.equal((await answerToHead('POST /healthz HTTP/1.1', large)).status, 405)
  assert.equal((await answerToHead('GET /healthz HTTP/1.1', large)).status, 200)
  assert.equal((await answerToHead('POST /console/auth/sign-out HTTP/1.1', large)).status, 200)
})

test('413 over 16 KiB on every route that needs no credential, declared or streamed', async () => {
  const routes = app.app.routes.filter((each) => isOpen(each) && each.body)
  assert.ok(routes.length >= 3)
  for (const { method, path } of routes) {
    const head = [`${method} ${path} HTTP/1.1`, 'content-type: application/json']
    const declared = await answerToHead(...head, `content-length: ${OPEN_BODY_BYTES_MAX + 1}`)
    assert.deepEqual([declared.status, codeOf(declared)], [413, 'request_too_large'], path)
    const connection = await rawConnection(app.url)
    await connection.write([...head, 'host: kinora', 'transfer-encoding: chunked', '', ''].join('\r\n'))
    await connection.write(`${(OPEN_BODY_BYTES_MAX + 1).toString(16)}\r\n${' '.repeat(OPEN_BODY_BYTES_MAX + 1)}\r\n`)
    const streamed = await connection.answer()
    connection.close()
    assert.deepEqual([streamed.status, codeOf(streamed)], [413, 'request_too_large'], path)
    const fits = JSON.stringify({ padding: 'x'.repeat(OPEN_BODY_BYTES_MAX - 14) })
    const answer = await fetch(app.url + path, { method, headers: { 'content-type': 'application/json' }, body: fits })
    assert.equal(answer.status, 400, path)
    await answer.body?.cancel()
  }
})

test('400 for depth and for the number of values, at any size', async () => {
  const nested = (depth: number) => `{"model":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const deep = new RegExp(`nested at most ${JSON_DEPTH_MAX} levels`)
  for (const depth of [JSON_DEPTH_MAX + 1, 10_000, 20 * MEBIBYTE]) {
    assertInvalid(await sendRaw(app, person, nested(depth)), null, deep)
  }
  assertInvalid(await sendRaw(app, person, nested(JSON_DEPTH_MAX)), 'model', /expected a string/)
  const many = (count: number) => `{"model":[${'1,'.repeat(count - 1)}1]}`
  assertInvalid(await sendRaw(app, person, many(JSON_VALUES_MAX)), null, /more than 200000 values/)
  assertInvalid(await sendRaw(app, person, many(JSON_VALUES_MAX - 10)), 'model', /expected a string/)
})

test('bodies are read as far as their organization has room for them: 429 after a wait or beyond a number, and nobody else waits', async () => {
  const limits = { total: 20 * MEBIBYTE, owner: 2 * MEBIBYTE, wait_seconds: 0.05, owner_requests: 2 }
  const budget = openByteBudget(limits)
  const own = await startApp({ budget })
  const [one, other] = [await newCustomer(own), await newCustomer(own)]
  const post = async ({ key }: TestPerson, size: number, ...lines: string[]) => {
    const connection = await rawConnection(own.url)
    const head = ['POST /v1/videos HTTP/1.1', 'host: kinora', `authorization: Bearer ${key}`, ...lines]
    await connection.write([...head, 'content-type: application/json', '', ''].join('\r\n'))
    await connection.write(Buffer.alloc(size, ' '))
    return connection
  }
  const slow = await post(one, MEBIBYTE, `content-length: ${3 * MEBIBYTE}`)
  while (budget.held(one.org_id) < 3 * MEBIBYTE) await nextTurn()
  const refused = { status: 429, type: 'rate_limit_error', code: 'too_many_requests', message: /Wait for answers/ }
  assertRefused(await sendRaw(own, one, ' '.repeat(MEBIBYTE)), refused)
  const small = gzipSync(Buffer.alloc(MEBIBYTE, ' '))
  assertRefused(await sendRaw(own, { ...one, headers: { 'content-encoding': 'gzip' } }, small), refused)
  assert.equal((await sendRaw(own, other, ' '.repeat(1.9 * MEBIBYTE))).status, 400)
  slow.close()
  while (budget.held() > 0) await nextTurn()
  assert.equal((await sendRaw(own, one, ' '.repeat(MEBIBYTE))).status, 400)
  const unfinished = await Promise.all([1, 2].map(() => post(one, 10_000, 'content-length: 20000')))
  while (budget.held() < 40_000) await nextTurn()
  assertRefused(await sendRaw(own, one, '{}'), { ...refused, message: /has 2 requests that are not answered yet/ })
  assert.equal((await sendRaw(own, other, '{}')).status, 400)
  for (const { close } of unfinished) close()
  while (budget.held() > 0) await nextTurn()
  assert.equal((await sendRaw(own, one, '{}')).status, 400)
  await own.close()
})

test('415 for a compressed body on every route that needs no credential, before it is decoded', async () => {
  const routes = app.app.routes.filter((each) => isOpen(each) && each.body)
  for (const { method, path } of routes) {
    for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'compress']) {
      const lines = ['content-type: application/json', `content-encoding: ${coding}`, 'content-length: 100']
      const answer = await answerToHead(`${method} ${path} HTTP/1.1`, ...lines)
      assert.deepEqual([answer.status, codeOf(answer)], [415, 'unsupported_media_type'], `${path} ${coding}`)
      assert.match(JSON.parse(String(answer.body)).error.message, /Content-Encoding/)
    }
    const headers = { 'content-type': 'application/json', 'content-encoding': 'identity' }
    const answer = await fetch(app.url + path, { method, headers, body: '{}' })
    assert.equal(answer.status, 400, path)
    await answer.body?.cancel()
  }
})

/** The head of a submission with these header lines and a body of this size. */
const submission = (size_bytes: number, ...lines: string[]) =>
  ['POST /v1/videos HTTP/1.1', `content-length: ${size_bytes}`, `authorization: Bearer ${person.key}`, ...lines]
    .concat('host: kinora', '', '')
    .join('\r\n')

test('a rejected body of 3 MiB is read to its end, however little of it was parsed, before its connection ends', async () => {
  const rest = Buffer.alloc(3 * MEBIBYTE, 0xff)
  const broken = Buffer.concat([gzipSync('{}').subarray(0, 10), rest])
  const too_far = Buffer.concat([gzipSync(Buffer.alloc(200 * MEBIBYTE)), rest])
  for (const [bytes, status, ...lines] of [
    [broken, 400, 'content-type: application/json', 'content-encoding: gzip'],
    [too_far, 413, 'content-type: application/json', 'content-encoding: gzip'],
    [rest, 415, 'content-type: application/json', 'content-encoding: compress'],
    [rest, 415, 'content-type: text/plain'],
  ] as const) {
    const connection = await rawConnection(app.url)
    await connection.write(submission(bytes.length, ...lines))
    await connection.write(bytes.subarray(0, MEBIBYTE))
    const answer = await connection.answer()
    assert.deepEqual([answer.status, answer.headers.connection], [status, 'close'])
    // A closed end would refuse the rest, and the client might lose the answer.
    await Promise.all([once(connection.socket, 'end'), connection.write(bytes.subarray(MEBIBYTE))])
  }
})

test('a rejected form is read to its end, and the connection goes on', async () => {
  const connection = await rawConnection(app.url)
  const file = { filename: 'a.png', type: 'image/png', body: Buffer.alloc(3 * MEBIBYTE) }
  for (const name of ['nonsense', 'input_reference']) {
    const { type, body } = multipart([
      { name: 'prompt', body: 'x' },
      { name: 'prompt', body: 'x' },
      { name, ...file },
    ])
    await connection.write(submission(body.length, `content-type: ${type}`))
    await connection.write(body)
    const answer = await connection.answer()
    assert.deepEqual([answer.status, answer.headers.connection], [400, 'keep-alive'])
  }
  await connection.write('GET /healthz HTTP/1.1\r\nhost: kinora\r\n\r\n')
  assert.equal((await connection.answer()).status, 200)
  connection.close()
})
