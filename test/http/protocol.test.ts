import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'
import { assertInvalid, assertRefused, jobsOf, sendRaw } from '../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const LIMIT = 64 * 1024 * 1024
const BODY = JSON.stringify(videoBody())
const head = (...lines: string[]) =>
  ['POST /v1/videos HTTP/1.1', 'host: kinora', `authorization: Bearer ${person.key}`, ...lines, '', ''].join('\r\n')

/** Writes, half-closes and returns everything that came back until the end. */
function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(app.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes, 'latin1'))
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
}

const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))

test('JSON is read whatever the letters and parameters of its content type', async () => {
  const types = [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/json;',
  ]
  for (const type of types) assert.equal((await sendRaw(app, person, BODY, type)).status, 200, type)
})

test('a byte order mark before the JSON is skipped', async () => {
  assert.equal((await sendRaw(app, person, `\ufeff${BODY}`)).status, 200)
})

test('415 for a body of another type, of none, or of an empty one', async () => {
  const refused = { status: 415, code: 'unsupported_media_type' }
  for (const type of [
    'text/plain',
    'application/json5',
    'application/xml',
    'x',
    '*/*',
    'application/json, text/plain',
  ]) {
    assertRefused(await sendRaw(app, person, BODY, type), refused)
  }
  for (const line of [[], ['content-type:'], ['content-type: ']]) {
    const connection = await rawConnection(app.url)
    await connection.write(head(...line, `content-length: ${BODY.length}`) + BODY)
    const answer = await connection.answer()
    connection.close()
    assert.deepEqual([answer.status, JSON.parse(String(answer.body)).error.code], [415, 'unsupported_media_type'])
  }
})

test('400 for JSON that cannot be read: cut, doubled, commented, single-quoted, not UTF-8, marked twice, compressed without a word of it', async () => {
  const message = 'We could not parse the JSON body of your request. Send one JSON object in UTF-8.'
  const texts = [
    BODY.slice(0, -1),
    BODY + BODY,
    `/* */${BODY}`,
    BODY.replaceAll('"', "'"),
    `\ufeff\ufeff${BODY}`,
    '{"a":01}',
    '{"a":NaN}',
    '{,}',
    'undefined',
    ' ',
  ]
  for (const text of texts) assertInvalid(await sendRaw(app, person, text), null, message)
  const bytes = [
    Buffer.from(BODY.replace('boat', 'b\u00e4r'), 'latin1'),
    Buffer.from(BODY, 'utf16le'),
    Buffer.from('1f8b0800', 'hex'),
  ]
  for (const body of bytes) assertInvalid(await sendRaw(app, person, new Uint8Array(body)), null, message)
})

test('400 for a query that holds U+0000, in a list filtered by text and on every other route', async () => {
  for (const path of ['/v1/videos?model=', '/v1/videos?status=', '/v1/files?purpose=', '/console/usage?group_by=']) {
    const caller = path.startsWith('/v1') ? { key: person.key } : { cookie: person.cookie }
    for (const value of ['%00', 'a%00b']) {
      const { status, body } = await send(app, 'GET', path + value, caller)
      assert.equal(status, 400, path + value)
      assert.equal(body.error.param, /(\w+)=$/.exec(path)![1])
    }
  }
})

test('413 over 64 MiB, declared or streamed; a body of exactly 64 MiB is read', async () => {
  const text = '{"model":"'
  const exact = text + 'x'.repeat(LIMIT - text.length - 2) + '"}'
  assertInvalid(await sendRaw(app, person, exact), 'model', /string too long/)
  for (const type of ['application/json', 'text/plain']) {
    const connection = await rawConnection(app.url)
    await connection.write(head(`content-type: ${type}`, `content-length: ${LIMIT + 1}`))
    const answer = await connection.answer()
    assert.deepEqual([answer.status, JSON.parse(String(answer.body)).error.code], [413, 'request_too_large'])
    connection.close()
  }
  const streamed = await rawConnection(app.url)
  await streamed.write(head('content-type: application/json', 'transfer-encoding: chunked'))
  const mebibyte = `100000\r\n${' '.repeat(0x100000)}\r\n`
  for (let i = 0; i < 64; i++) await streamed.write(mebibyte)
  await streamed.write('1\r\n \r\n')
  const answer = await streamed.answer()
  streamed.close()
  assert.deepEqual([answer.status, JSON.parse(String(answer.body)).error.code], [413, 'request_too_large'])
})

test('431 for 17 kB of headers, 400 for what is not HTTP, each in the envelope and with a request id', async () => {
  const large = await exchange(head(`x-large: ${'x'.repeat(17_000)}`))
  assert.deepEqual(statuses(large), [431])
  const broken = await exchange('NONSENSE\r\n\r\n')
  assert.deepEqual(statuses(broken), [400])
  for (const answer of [large, broken]) {
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.deepEqual(
      [body.error.type, body.error.code, body.error.param],
      ['invalid_request_error', 'invalid_request_error', null],
    )
    assert.match(answer, /x-request-id: req_[0-9a-f]{32}\r\n/)
    assert.match(answer, /connection: close\r\n/)
  }
})

/** Ways to hide a second request in the first: each would be answered 200 if it were seen. */
const HIDDEN = 'GET /healthz HTTP/1.1\r\nhost: kinora\r\n\r\n'
const SMUGGLING: Record<string, () => string> = {
  'a length and chunks': () =>
    `${head('content-type: application/json', 'content-length: 4', 'transfer-encoding: chunked')}0\r\n\r\n${HIDDEN}`,
  'chunks and a length': () =>
    `${head('content-type: application/json', 'transfer-encoding: chunked', 'content-length: 4')}0\r\n\r\n${HIDDEN}`,
  'two lengths': () =>
    `${head('content-type: application/json', 'content-length: 0', `content-length: ${HIDDEN.length}`)}${HIDDEN}`,
  'a list of lengths': () =>
    `${head('content-type: application/json', `content-length: 0, ${HIDDEN.length}`)}${HIDDEN}`,
  'a signed length': () => `${head('content-type: application/json', 'content-length: +0')}${HIDDEN}`,
  'a hexadecimal length': () => `${head('content-type: application/json', 'content-length: 0x0')}${HIDDEN}`,
  'a length beyond all numbers': () => `${head('content-length: 99999999999999999999999')}${HIDDEN}`,
  'an unknown coding': () =>
    `${head('content-type: application/json', 'transfer-encoding: xchunked')}0\r\n\r\n${HIDDEN}`,
  'chunked, then another coding': () =>
    `${head('content-type: application/json', 'transfer-encoding: chunked, identity')}0\r\n\r\n${HIDDEN}`,
  'two codings in two headers': () => `${head('transfer-encoding: chunked', 'transfer-encoding: x')}0\r\n\r\n${HIDDEN}`,
  'a coding after a vertical tab': () => `${head('transfer-encoding: \vchunked')}0\r\n\r\n${HIDDEN}`,
  'a space before the colon': () => `${head('transfer-encoding : chunked')}0\r\n\r\n${HIDDEN}`,
  'a folded header': () => `${head('transfer-encoding:', ' chunked')}0\r\n\r\n${HIDDEN}`,
  'line feeds alone': () => `${head(`content-length: 0`).replaceAll('\r\n', '\n')}${HIDDEN}`,
  'a bare carriage return': () => `${head('x: y\rcontent-length: 0')}${HIDDEN}`,
  'a line feed in a chunk extension': () => `${head('transfer-encoding: chunked')}0;\nx\r\n\r\n${HIDDEN}`,
  'a negative chunk': () => `${head('transfer-encoding: chunked')}-1\r\n\r\n${HIDDEN}`,
  'a chunk beyond all numbers': () => `${head('transfer-encoding: chunked')}fffffffffffffffff\r\n\r\n${HIDDEN}`,
  'a chunk longer than it says': () => `${head('transfer-encoding: chunked')}1\r\nxx\r\n0\r\n\r\n${HIDDEN}`,
  'no host': () => `POST /v1/videos HTTP/1.1\r\ncontent-length: 0\r\n\r\n${HIDDEN}`,
  'NUL in a header': () => `${head('x: a\0b', 'content-length: 0')}${HIDDEN}`,
  'an unknown version': () => `POST /v1/videos HTTP/3.7\r\nhost: kinora\r\ncontent-length: 0\r\n\r\n${HIDDEN}`,
  'a space in the target': () => `POST /v1/videos x HTTP/1.1\r\nhost: kinora\r\ncontent-length: 0\r\n\r\n${HIDDEN}`,
}

// One waits for ten seconds, until the service closes the connection.
suite('bytes that are no whole request', { concurrency: true }, () => {
  for (const [name, bytes] of Object.entries(SMUGGLING)) {
    test(`no second request can hide behind ${name}`, async () => {
      const seen = statuses(await exchange(bytes()))
      assert.ok(seen.length > 0)
      for (const status of seen) assert.ok(status >= 400 && status < 500, `answered ${seen}`)
    })
  }
})

test('valid pipelined requests are answered in order, each with its own request id', async () => {
  const connection = await rawConnection(app.url)
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nhost: kinora\r\nx-request-id: mine\r\nauthorization: Bearer ${person.key}\r\n\r\n`
  await connection.write(get('/v1/videos/models') + get('/v1/videos/x') + get('/v1/videos?limit=1') + get('/nowhere'))
  const answers = [
    await connection.answer(),
    await connection.answer(),
    await connection.answer(),
    await connection.answer(),
  ]
  connection.close()
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 404, 200, 404],
  )
  assert.equal(JSON.parse(String(answers[0]!.body)).data[0].object, 'video_model')
  const ids = answers.map(({ headers }) => headers['x-request-id'])
  assert.equal(new Set(ids).size, 4)
  for (const id of ids) assert.match(id!, /^req_[0-9a-f]{32}$/)
})

test('a credential is one bearer token and nothing else', async () => {
  const { key } = person
  const call = (authorization: string) => send(app, 'GET', '/v1/videos', { headers: { authorization } })
  for (const good of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key}`])
    assert.equal((await call(good)).status, 200, good)
  const last = key.at(-1) === 'a' ? 'b' : 'a'
  const bad = [
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer ${key} x`,
    `Bearer ${key},${key}`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.slice(0, -1)}${last}`,
    `Bearer x${key}`,
    `Token ${key}`,
  ]
  for (const authorization of bad) {
    const answer = await call(authorization)
    assertRefused(answer, { status: 401, code: 'invalid_api_key', type: 'authentication_error' })
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
    assert.ok(!JSON.stringify(answer.body).includes(key.slice(4, 20)))
  }
  assert.equal((await send(app, 'GET', `/v1/videos?api_key=${key}`)).status, 401)
})

test('headers of the SDKs change nothing, and Accept never causes an error', async () => {
  const headers = {
    accept: 'application/binary',
    'openai-organization': 'x',
    'openai-project': 'y',
    'openai-beta': 'z',
    'x-stainless-lang': 'js',
  }
  assert.equal((await send(app, 'GET', '/v1/videos', { key: person.key, headers })).status, 200)
})

test('only accepted requests created a job, and the service is healthy', async () => {
  assert.equal(await jobsOf(app, person.org_id), 5)
  assert.deepEqual(await app.audit(), {})
})
