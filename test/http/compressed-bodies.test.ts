import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { DECODER_BYTES } from '../../server/platform/http/body/coded.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { multipart, rawConnection } from '../support/http/raw-http.ts'
import { assertInvalid, assertRefused, sendRaw } from '../support/http/videos-app.ts'

const MEBIBYTE = 1024 * 1024
// Made before there are connections: on a busy machine it takes longer than an idle one is kept open.
const UNPACKS_TOO_FAR = zstdCompressSync(
  `{"model":"${randomBytes(8 * MEBIBYTE)
    .toString('hex')
    .repeat(5)}"}`,
)
let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

/** The beginning of a zstd frame: its block comes out only once it is complete, which it never is. */
function unfinishedBlock(bytes: number): Buffer {
  const block = Buffer.alloc(9 + bytes, 'A')
  block.set([0x28, 0xb5, 0x2f, 0xfd, 0, 0x68])
  block.writeUIntLE((128 * 1024 * 8) | 4, 6, 3)
  return block
}

test('a compressed body counts what was received of it and its decoder, also when nothing has come out yet', async () => {
  const budget = openByteBudget({ total: 20 * MEBIBYTE, owner: 3.5 * MEBIBYTE, wait_seconds: 0.05 })
  const own = await startApp({ budget })
  const [one, other] = [await newCustomer(own), await newCustomer(own)]
  const small = gzipSync(JSON.stringify(videoBody()))
  const sendSmall = (person: TestPerson) =>
    sendRaw(own, { key: person.key, headers: { 'content-encoding': 'gzip' } }, small)
  assert.equal((await sendSmall(one)).status, 200)
  assert.equal(budget.held(), 0)
  const bytes = unfinishedBlock(120_000)
  // The last of them exceeds the share, as one may.
  const parked = []
  for (let i = 0; i < 6; i++) {
    const connection = await rawConnection(own.url)
    const head = ['POST /v1/videos HTTP/1.1', 'host: kinora', `authorization: Bearer ${one.key}`]
    head.push('content-type: application/json', 'content-encoding: zstd', 'content-length: 1000000', '', '')
    await connection.write(head.join('\r\n'))
    await connection.write(bytes)
    parked.push(connection)
    while (budget.held() < (i + 1) * (DECODER_BYTES.zstd + bytes.length)) await nextTurn()
  }
  assertRefused(await sendSmall(one), { status: 429, type: 'rate_limit_error', code: 'too_many_requests' })
  assert.equal((await sendSmall(other)).status, 200)
  for (const { close } of parked) close()
  while (budget.held() > 0) await nextTurn()
  assert.equal((await sendSmall(one)).status, 200)
  await own.close()
})

const CODINGS: ReadonlyArray<[name: string, encode: (bytes: Buffer) => Buffer]> = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['GZip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['zstd', (bytes) => Buffer.concat([bytes.subarray(0, 20), bytes.subarray(20)].map((part) => zstdCompressSync(part)))],
  ['identity', (bytes) => bytes],
  ['identity, gzip', gzipSync],
]

const sendCoded = (coding: string, bytes: Uint8Array, type?: string) =>
  sendRaw(app, { key: person.key, headers: { 'content-encoding': coding } }, bytes, type)

test('200 for a compressed body in each coding, and for one that only claims to be', async () => {
  const small = Buffer.from(JSON.stringify(videoBody()))
  const large = Buffer.from(JSON.stringify(videoBody()).padStart(3 * MEBIBYTE))
  for (const [coding, encode] of CODINGS) {
    const answer = await sendCoded(coding, encode(small))
    assert.equal(answer.status, 200, `${coding}: ${answer.text}`)
  }
  assert.equal((await sendCoded('gzip', small)).status, 200)
  // Spaces alone shrink to a thousandth.
  assertRefused(await sendCoded('gzip', gzipSync(large)), {
    status: 413,
    code: 'request_too_large',
    message: /more than 100 times/,
  })
})

test('413 for a body that unpacks beyond the limit, whatever its ratio', async () => {
  const answer = await sendCoded('zstd', UNPACKS_TOO_FAR)
  assertRefused(answer, { status: 413, code: 'request_too_large', message: /larger than 67108864 bytes/ })
})

test('400 for a compressed body that unpacks to nothing, soon; one that does not shrink is read', async () => {
  const empty = gzipSync('')
  const nothing = Buffer.alloc(8 * MEBIBYTE - ((8 * MEBIBYTE) % empty.length))
  for (let at = 0; at < nothing.length; at += empty.length) empty.copy(nothing, at)
  assertRefused(await sendCoded('gzip', nothing), {
    status: 400,
    code: 'invalid_request_error',
    message: /less than half of its size/,
  })
  const large = Buffer.from(JSON.stringify(videoBody()).padStart(3 * MEBIBYTE))
  assert.equal((await sendCoded('gzip', gzipSync(large, { level: 0 }))).status, 200)
})

test('400 for a body in many short frames of zstd, at the first hundred', async () => {
  const frames = [JSON.stringify(videoBody()), ...Array<string>(1000).fill('')].map((text) => zstdCompressSync(text))
  assert.equal((await sendCoded('zstd', Buffer.concat(frames.slice(0, 90)))).status, 200)
  assertInvalid(await sendCoded('zstd', Buffer.concat(frames)), null, /in many short frames/)
})

test('400 for a compressed body that is cut or broken, by its coding', async () => {
  const small = Buffer.from(JSON.stringify(videoBody()))
  for (const [coding, encode] of CODINGS.filter(([name]) => !name.startsWith('identity'))) {
    const reason = new RegExp(`could not be decoded as ${coding.toLowerCase().replace('x-', '')}, `)
    for (const missing of [1, 20])
      assertInvalid(await sendCoded(coding, encode(small).subarray(0, -missing)), null, reason)
  }
  const coded = gzipSync(small)
  const broken = Buffer.concat([coded.subarray(0, 20), randomBytes(20), coded.subarray(40)])
  assertInvalid(await sendCoded('gzip', broken), null, /could not be decoded as gzip/)
  assertInvalid(await sendCoded('br', Buffer.alloc(50, 0xff)), null, /could not be decoded as br/)
})

test('415 for a coding that is unknown, doubled, or of a form', async () => {
  const coded = gzipSync(Buffer.from(JSON.stringify(videoBody())))
  const unsupported = { status: 415, code: 'unsupported_media_type', message: /Content-Encoding/ }
  for (const coding of ['compress', 'aws-chunked', 'gzip, br', 'gzip, gzip', 'constructor', '__proto__'])
    assertRefused(await sendCoded(coding, coded), unsupported)
  const { type, body } = multipart([{ name: 'prompt', body: 'x' }])
  const form = await sendCoded('gzip', gzipSync(body), type)
  assertRefused(form, { status: 415, code: 'unsupported_media_type', message: /A form may not be compressed/ })
})

/** A frame with its text as it is. Source: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1 */
function zstdFrame(text: string, { window_log }: { window_log: number }): Buffer {
  const block = Buffer.alloc(3)
  block.writeUIntLE(1 + text.length * 8, 0, 3)
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) * 8]), block, Buffer.from(text)])
}

test('415 for zstd with a window over 8 MB, which HTTP does not have', async () => {
  const text = JSON.stringify(videoBody())
  assert.equal((await sendCoded('zstd', zstdFrame(text, { window_log: 23 }))).status, 200)
  for (const window_log of [24, 27, 31]) {
    const answer = await sendCoded('zstd', zstdFrame(text, { window_log }))
    assertRefused(answer, { status: 415, code: 'unsupported_media_type', message: /window of more than 8 MB/ })
  }
})

test('401 for a compressed body without a key, before it is unpacked', async () => {
  const answer = await sendRaw(app, { headers: { 'content-encoding': 'nonsense' } }, randomBytes(100))
  assert.equal(answer.status, 401)
})
