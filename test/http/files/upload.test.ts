import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { type Blobs, DiskFull, type StagedBlob } from '../../../server/platform/blobs/blobs.ts'
import { type FilesApp, sendForm, startFiles, uploaded } from '../../support/http/files-app.ts'
import { multipart } from '../../support/http/raw-http.ts'
import { bearer, type HttpResponse, send } from '../../support/http/send.ts'

let app: FilesApp
before(async () => {
  app = await startFiles()
})
after(() => app.close())
beforeEach(() => app.clear())

const FILE = { name: 'file', filename: 'notes.txt', body: 'hello' }
const PURPOSE = { name: 'purpose', body: 'user_data' }
const ANCHOR = { name: 'expires_after[anchor]', body: 'created_at' }
const seconds = (text: string) => ({ name: 'expires_after[seconds]', body: text })

function assertRefused(answer: Omit<HttpResponse, 'text'>, status: number, code: string, param: string | null): void {
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  assert.deepEqual({ ...answer.body.error, message: '' }, { message: '', type: 'invalid_request_error', param, code })
  assert.ok(answer.body.error.message.length > 10)
  assert.match(answer.headers.get('x-request-id')!, /^req_[0-9a-f]{32}$/)
}

async function assertNothingKept(before: number): Promise<void> {
  assert.equal(app.stored(), before, 'files on disk')
  const { rows } = await app.database.pool.query('select count(*)::int as count from files')
  assert.equal(rows[0].count, 0, 'rows')
}

test('200 with the whole file object, whichever comes first, file or purpose', async () => {
  for (const parts of [
    [FILE, PURPOSE],
    [PURPOSE, FILE],
  ]) {
    const { status, body } = await sendForm(app, parts)
    const now = Math.floor(app.clock.now().getTime() / 1000)
    assert.equal(status, 200)
    assert.match(body.id, /^file-[0-9A-HJKMNP-TV-Z]{26}$/)
    assert.deepEqual(body, {
      id: body.id,
      file_id: body.id,
      object: 'file',
      bytes: 5,
      created_at: now,
      expires_at: now + 2_592_000,
      filename: 'notes.txt',
      purpose: 'user_data',
      status: 'processed',
      status_details: null,
    })
  }
})

test('200 for every document purpose, and 400 for any other word', async () => {
  for (const purpose of ['user_data', 'assistants', 'batch', 'fine-tune', 'evals']) {
    assert.equal((await sendForm(app, [FILE, { name: 'purpose', body: purpose }])).body.purpose, purpose)
  }
  await app.clear()
  const before = app.stored()
  for (const purpose of ['', 'Vision', 'image', 'user_data ', 'assistants_output', '__proto__', 'a\u0000b']) {
    assertRefused(await sendForm(app, [FILE, { name: 'purpose', body: purpose }]), 400, 'invalid_value', 'purpose')
  }
  await assertNothingKept(before)
})

test('400 for a missing, empty, repeated, renamed or textual file, and nothing is left behind', async () => {
  const before = app.stored()
  const text = { name: 'file', body: 'hello' }
  assertRefused(await sendForm(app, [PURPOSE]), 400, 'missing_required_parameter', 'file')
  assertRefused(await sendForm(app, [FILE]), 400, 'missing_required_parameter', 'purpose')
  assertRefused(await sendForm(app, [{ ...FILE, body: '' }, PURPOSE]), 400, 'invalid_file', 'file')
  assertRefused(await sendForm(app, [FILE, FILE, PURPOSE]), 400, 'invalid_value', 'file')
  assertRefused(await sendForm(app, [FILE, PURPOSE, { ...FILE, name: 'mask' }]), 400, 'invalid_value', 'file')
  assertRefused(await sendForm(app, [{ ...FILE, name: 'image' }, PURPOSE]), 400, 'unknown_parameter', 'image')
  assertRefused(await sendForm(app, [text, PURPOSE]), 400, 'invalid_type', 'file')
  assertRefused(await sendForm(app, [FILE, PURPOSE, PURPOSE]), 400, 'invalid_value', 'purpose')
  await assertNothingKept(before)
})

test('200 with unknown small fields, 400 with one over 1000 bytes or with a seventh part', async () => {
  const extra = (count: number, body = 'x') => Array.from({ length: count }, (_, i) => ({ name: `extra${i}`, body }))
  assert.equal((await sendForm(app, [...extra(4), FILE, PURPOSE])).status, 200)
  assert.equal((await sendForm(app, [...extra(1, 'x'.repeat(1000)), FILE, PURPOSE])).status, 200)
  await app.clear()
  const before = app.stored()
  assertRefused(await sendForm(app, [FILE, PURPOSE, ...extra(1, 'x'.repeat(1001))]), 400, 'invalid_value', 'extra0')
  assertRefused(await sendForm(app, [FILE, PURPOSE, ...extra(5)]), 400, 'invalid_request_error', null)
  assertRefused(await sendForm(app, [...extra(5), FILE, PURPOSE]), 400, 'invalid_request_error', null)
  await assertNothingKept(before)
})

test('expires_after shortens the life from one hour to thirty days and refuses anything else', async () => {
  for (const text of ['3600', '86400', '2592000']) {
    const { body } = await sendForm(app, [FILE, PURPOSE, ANCHOR, seconds(text)])
    assert.equal(body.expires_at - body.created_at, Number(text))
  }
  const refusals = [
    [[seconds('3599'), ANCHOR], 'integer_below_min_value', 'expires_after[seconds]'],
    [[seconds('2592001'), ANCHOR], 'integer_above_max_value', 'expires_after[seconds]'],
    [[seconds('-1'), ANCHOR], 'integer_below_min_value', 'expires_after[seconds]'],
    [[seconds('3600.5'), ANCHOR], 'invalid_type', 'expires_after[seconds]'],
    [[seconds('1e5'), ANCHOR], 'invalid_type', 'expires_after[seconds]'],
    [[seconds('3600'), { ...ANCHOR, body: 'last_active_at' }], 'invalid_value', 'expires_after[anchor]'],
    [[seconds('3600')], 'missing_required_parameter', 'expires_after[anchor]'],
    [[ANCHOR], 'missing_required_parameter', 'expires_after[seconds]'],
  ] as const
  for (const [parts, code, param] of refusals) {
    assertRefused(await sendForm(app, [FILE, PURPOSE, ...parts]), 400, code, param)
  }
})

test('200 at exactly 100,000,000 bytes, 413 with one more, which leaves nothing behind', async () => {
  const bytes = Buffer.alloc(100_000_001, 7)
  const largest = await uploaded(app, bytes.subarray(1))
  assert.equal(largest.bytes, 100_000_000)
  const { rows } = await app.database.pool.query('select sha256 from files')
  assert.equal(rows[0].sha256, createHash('sha256').update(bytes.subarray(1)).digest('hex'))
  await send(app, 'DELETE', `/v1/files/${largest.id}`, app)
  const before = app.stored()
  assertRefused(await sendForm(app, [{ ...FILE, body: bytes }, PURPOSE]), 413, 'file_too_large', 'file')
  await assertNothingKept(before)
})

test('415 for a body that is not multipart, 400 for multipart that cannot be read', async () => {
  const before = app.stored()
  const post = async (headers: Record<string, string>, bytes: Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${app.url}/v1/files`, {
      method: 'POST',
      headers: { ...bearer(app.key), ...headers },
      body: bytes,
    })
    const body = (await response.json()) as HttpResponse['body']
    return { status: response.status, headers: response.headers, body }
  }
  const sendAs = (type: string, body: string) => post({ 'content-type': type }, Buffer.from(body))
  for (const type of [
    'application/json',
    'application/octet-stream',
    'text/plain',
    'application/x-www-form-urlencoded',
  ]) {
    assertRefused(await sendAs(type, '{"purpose":"vision"}'), 415, 'unsupported_media_type', null)
  }
  assertRefused(await post({}, Buffer.from('x')), 415, 'unsupported_media_type', null)
  assertRefused(await send(app, 'POST', '/v1/files', app), 415, 'unsupported_media_type', null)
  const unbounded = await sendAs('multipart/form-data', 'x')
  assertRefused(unbounded, 400, 'invalid_request_error', null)
  assert.match(unbounded.body.error.message, /has no boundary/)
  const whole = multipart([FILE, PURPOSE]).body.toString()
  // As many programs on Java write it.
  const stars = multipart([{ name: 'purpose', body: 'user_data' }], '*****')
  assertRefused(await sendAs(stars.type, stars.body.toString()), 400, 'missing_required_parameter', 'file')
  for (const doubtful of ['boundary=a; boundary=b', 'boundary="a\\"', "boundary*=utf-8''a"])
    assert.match((await sendAs(`multipart/form-data; ${doubtful}`, whole)).body.error.message, /has no boundary/)
  const type = 'multipart/form-data; boundary=kinora-boundary'
  for (const body of [whole.slice(0, -30), whole.slice(0, 60), 'no boundary at all', '--kinora-boundary\r\n\r\n']) {
    assertRefused(await sendAs(type, body), 400, 'invalid_request_error', null)
  }
  assertRefused(await sendAs(type, '--kinora-boundary--\r\n'), 400, 'missing_required_parameter', 'file')
  const hostile = [FILE, PURPOSE, { name: '__proto__', body: 'x' }, { name: 'constructor', body: 'y' }]
  assertRefused(await sendForm(app, hostile), 400, 'invalid_request_error', null)
  await assertNothingKept(before)
})

test('503 with advice to retry when the disk is full, and nothing is left behind', async () => {
  const before = app.stored()
  const { blobs } = app.ctx
  for (const call of ['stage', 'publish'] as const) {
    app.ctx.blobs = fullAt(blobs, call)
    const { status, headers, body } = await sendForm(app, [FILE, PURPOSE])
    assert.equal(status, 503)
    assert.equal(body.error.code, 'server_is_overloaded')
    assert.equal(headers.get('retry-after'), '30')
    app.ctx.blobs = blobs
  }
  await assertNothingKept(before)
  assert.equal((await sendForm(app, [FILE, PURPOSE])).status, 200)
})

test('the filename keeps its base name and nothing dangerous', async () => {
  const names: ReadonlyArray<[sent: string, kept: string]> = [
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\clip.mp4', 'clip.mp4'],
    ['..', 'file'],
    ['a\u0001b\u007f.png', 'ab.png'],
    // As browsers write a quotation mark and a line break.
    ['a%22b.png', 'a"b.png'],
    ['a%0D%0Ab%25.png', 'ab%25.png'],
    ['夏 2026.png', '夏 2026.png'],
    ['思'.repeat(100), '思'.repeat(85)],
  ]
  for (const [sent, kept] of names) {
    const file = await uploaded(app, 'x', { filename: sent })
    assert.equal(file.filename, kept)
    const content = await fetch(`${app.url}/v1/files/${file.id}/content`, { headers: bearer(app.key) })
    assert.doesNotMatch(content.headers.get('content-disposition')!, /\.\.|[\\/\u0000-\u001f]/)
    await content.arrayBuffer()
  }
})

/** The disk, found to be full by one of two calls: a real one cannot be filled on demand everywhere. */
function fullAt(blobs: Blobs, call: 'stage' | 'publish'): Blobs {
  const discard = async (staged: StagedBlob): Promise<never> => {
    await blobs.discard(staged)
    throw new DiskFull('no space left for files')
  }
  if (call === 'publish') return { ...blobs, publish: discard }
  return { ...blobs, stage: async (source, options) => discard(await blobs.stage(source, options)) }
}
