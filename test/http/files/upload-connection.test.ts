import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { anyoneWaits } from '../../support/data/meanwhile.ts'
import { type FilesApp, sendForm, startFiles } from '../../support/http/files-app.ts'
import { multipart, rawConnection } from '../../support/http/raw-http.ts'
import { send } from '../../support/http/send.ts'

let app: FilesApp
before(async () => {
  app = await startFiles()
})
after(() => app.close())
beforeEach(() => app.clear())

const FILE = { name: 'file', filename: 'notes.txt', body: 'hello' }
const PURPOSE = { name: 'purpose', body: 'user_data' }

/** Resolves when the next request to come has been closed. */
function requestClosed(): Promise<void> {
  return new Promise((resolve) => app.app.http.server.once('request', (request) => request.once('close', resolve)))
}

async function assertNothingKept(before: number): Promise<void> {
  assert.equal(app.stored(), before, 'files on disk')
  const { rows } = await app.database.pool.query('select count(*)::int as count from files')
  assert.equal(rows[0].count, 0, 'rows')
}

test('413 for a larger body by its declared length, without waiting for it', async () => {
  const connection = await rawConnection(app.url)
  const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\n`
  await connection.write(
    `${head}content-type: multipart/form-data; boundary=b\r\ncontent-length: 200000000\r\n\r\n--b\r\n`,
  )
  const { status, body } = await connection.answer()
  assert.equal(status, 413)
  assert.equal(JSON.parse(body.toString()).error.code, 'file_too_large')
  connection.close()
})

test('429 before a byte is read while the organization is uploading 1 GB, by the lengths that it declares, until one of them ends', async () => {
  const sending = await Promise.all(Array.from({ length: 11 }, () => rawConnection(app.url)))
  const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\ncontent-type: multipart/form-data; boundary=b\r\n`
  for (const { write } of sending) await write(`${head}content-length: 100000000\r\n\r\n--b\r\n`)
  const { status, body } = await Promise.any(sending.map(({ answer }) => answer()))
  assert.equal(status, 429)
  const { error } = JSON.parse(String(body))
  assert.deepEqual([error.type, error.code], ['rate_limit_error', 'too_many_requests'])
  assert.equal((await sendForm(app, [FILE, PURPOSE])).status, 429)
  const form = multipart([{ name: 'prompt', body: 'x' }])
  const headers = { 'content-type': form.type }
  assert.equal((await send(app, 'POST', '/v1/videos', { key: app.key, headers }, form.body)).status, 429)
  assert.equal((await sendForm({ ...app, key: app.rival.key }, [FILE, PURPOSE])).status, 200)
  for (const { close } of sending) close()
  while ((await sendForm(app, [FILE, PURPOSE])).status !== 200);
})

test('401 before a byte of the body is read, without a key and with an unknown one', async () => {
  const connection = await rawConnection(app.url)
  const head = 'POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\n'
  await connection.write(`${head}content-length: 90000000\r\n\r\n`)
  assert.equal((await connection.answer()).status, 401)
  connection.close()
  assert.equal((await sendForm({ ...app, key: 'nobody/x' }, [FILE, PURPOSE])).status, 401)
})

test('the connection serves the next request after an upload was refused half way', async () => {
  const connection = await rawConnection(app.url)
  const { type, body } = multipart([{ ...FILE, name: 'wrong', body: Buffer.alloc(3_000_000) }, PURPOSE])
  const head = `authorization: Bearer ${app.key}\r\nhost: x\r\n`
  await connection.write(
    `POST /v1/files HTTP/1.1\r\n${head}content-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  await connection.write(body)
  assert.equal((await connection.answer()).status, 400)
  await connection.write(`GET /v1/files HTTP/1.1\r\n${head}\r\n`)
  assert.equal((await connection.answer()).status, 200)
  connection.close()
})

test('an upload cut anywhere leaves nothing behind', async () => {
  const before = app.stored()
  const { type, body } = multipart([{ ...FILE, body: Buffer.alloc(400_000, 1) }, PURPOSE])
  const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\ncontent-type: ${type}\r\n`
  for (const cut of [10, 200, 200_000, 399_000, body.length - 60, body.length - 3]) {
    const ended = requestClosed()
    const connection = await rawConnection(app.url)
    await connection.write(`${head}content-length: ${body.length}\r\n\r\n`)
    await connection.write(body.subarray(0, cut))
    connection.socket.destroy()
    await ended
  }
  // The last refusals are still being cleaned up; a later upload runs through the same disk after them.
  for (let i = 0; i < 100 && app.stored() > before; i++) await send(app, 'GET', '/v1/files', app)
  await assertNothingKept(before)
})

test('an upload whose client leaves before it is admitted leaves nothing behind, and its share to others', async () => {
  const before = app.stored()
  const { type, body } = multipart([FILE, PURPOSE])
  // Without a length each counts as the largest, of which ten are all that an organization may send at once.
  const head = `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.key}\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`
  for (let i = 0; i < 10; i++) {
    await app.database.db.transaction().execute(async (tx) => {
      await sql`lock table accounts in access exclusive mode`.execute(tx)
      const closed = requestClosed()
      const connection = await rawConnection(app.url)
      await connection.write(head)
      while (!(await anyoneWaits(app.database.db))) await nextTurn()
      connection.close()
      await closed
    })
  }
  let status = 0
  for (let i = 0; i < 100 && status !== 200; i++) {
    const connection = await rawConnection(app.url)
    await connection.write(`${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
    status = (await connection.answer()).status
    connection.close()
  }
  assert.deepEqual([status, app.stored()], [200, before + 1])
})
