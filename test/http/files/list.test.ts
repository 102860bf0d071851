import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'

let app: FilesApp
before(async () => {
  app = await startFiles()
})
after(() => app.close())
beforeEach(() => app.clear())

const ids = (answer: HttpResponse): string[] => answer.body.data.map((file: { id: string }) => file.id)
const list = (query = '', key: string = app.key) => send(app, 'GET', `/v1/files${query}`, { key })

async function upload(count: number, options: Parameters<typeof uploaded>[2] = {}): Promise<string[]> {
  const made: string[] = []
  for (let i = 0; i < count; i++) made.push((await uploaded(app, `file ${i}`, options)).id)
  return made
}

test('200 with an empty envelope when there is nothing', async () => {
  const { status, body } = await list()
  assert.equal(status, 200)
  assert.deepEqual(body, { object: 'list', data: [], first_id: null, last_id: null, has_more: false })
})

test('200 newest first or oldest first, page after page without gap or duplicate', async () => {
  const made = await upload(5)
  const newest = made.toReversed()
  assert.deepEqual(ids(await list()), newest)
  assert.deepEqual(ids(await list('?order=asc')), made)
  const page = await list('?limit=2')
  assert.deepEqual(ids(page), newest.slice(0, 2))
  assert.deepEqual([page.body.first_id, page.body.last_id, page.body.has_more], [newest[0], newest[1], true])
  const next = await list(`?limit=3&after=${page.body.last_id}`)
  assert.deepEqual(ids(next), newest.slice(2))
  assert.equal(next.body.has_more, false)
  assert.deepEqual(ids(await list(`?order=asc&after=${made[3]}`)), [made[4]])
})

test('a cursor works when its file was deleted, belongs to another organization or never existed', async () => {
  const [first, second, third] = await upload(3)
  await send(app, 'DELETE', `/v1/files/${second}`, app)
  assert.deepEqual(ids(await list(`?after=${second}`)), [first])
  assert.deepEqual(ids(await list(`?order=asc&after=${second}`)), [third])
  const foreign = (await uploaded({ ...app, key: app.rival.key }, 'x')).id
  assert.deepEqual(ids(await list(`?after=${foreign}`)), [third, first])
  assert.deepEqual(ids(await list('?order=asc&after=file-00000000000000000000000000')), [first, third])
})

test('400 that names an invalid limit, cursor, order or purpose', async () => {
  const [id] = await upload(1)
  const refusals: Record<string, string[]> = {
    limit: ['0', '-1', '10001', '1e9', '10abc', '1.5', '', '%20', '99999999999999999999', '1&limit=2'],
    after: [
      '',
      'x',
      'file-',
      `${id}0`,
      id!.toLowerCase(),
      id!.slice(5),
      "file-'%20or%201=1--",
      'file-%00',
      `${id}&after=${id}`,
    ],
    order: ['', 'ASC', 'newest', 'desc;drop'],
    purpose: ['', 'Vision', 'image', 'assistants_output'],
  }
  for (const [param, values] of Object.entries(refusals)) {
    for (const value of values) {
      const { status, body } = await list(`?${param}=${value}`)
      assert.equal(status, 400, `${param}=${value}`)
      assert.equal(body.error.param, param)
      assert.equal(body.error.type, 'invalid_request_error')
    }
  }
})

test('200 at both ends of limit, 100 by default, and unknown parameters are ignored', async () => {
  await upload(3)
  assert.equal(ids(await list('?limit=1')).length, 1)
  assert.equal(ids(await list('?limit=10000')).length, 3)
  assert.equal(ids(await list('?foo=bar')).length, 3)
  await app.database.pool.query(
    `insert into files select 'file-' || lpad(i::text, 26, '0'), org_id, user_id, purpose, filename, media_type, size_bytes, sha256,
       'copy' || i, probe, created_at, expires_at from files, generate_series(1, 98) i where id = (select max(id) from files)`,
  )
  const { body } = await list()
  assert.equal(body.data.length, 100)
  assert.equal(body.has_more, true)
})

test('a list with a purpose has no files of another one', async () => {
  const [document] = await upload(1)
  const [batch] = await upload(1, { purpose: 'batch' })
  assert.deepEqual(ids(await list('?purpose=batch')), [batch])
  assert.deepEqual(ids(await list('?purpose=user_data')), [document])
  assert.deepEqual(ids(await list('?purpose=fine-tune')), [])
})

test('a colleague sees, reads and deletes the file; another organization gets the 404 of a missing one everywhere', async () => {
  const { id } = await uploaded(app, 'secret')
  const missing = 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const routes: ReadonlyArray<[method: string, path: (file: string) => string]> = [
    ['GET', (file) => `/v1/files/${file}`],
    ['GET', (file) => `/v1/files/${file}/content`],
    ['DELETE', (file) => `/v1/files/${file}`],
  ]
  const expected = (await send(app, 'GET', `/v1/files/${missing}`, app)).body
  assert.equal(expected.error.code, 'not_found')
  for (const [method, path] of routes) {
    for (const [file, key] of [
      [id, app.rival.key],
      [missing, app.key],
      [missing, app.rival.key],
      ["file-'or'1", app.key],
      [id.toLowerCase(), app.key],
      ['x'.repeat(400), app.key],
    ] as const) {
      const { status, body } = await send(app, method, path(file), { key })
      assert.equal(status, 404, `${method} ${path(file)}`)
      assert.deepEqual(body, expected)
    }
  }
  assert.deepEqual(ids(await list('', app.rival.key)), [])
  assert.deepEqual(ids(await list('', app.colleague.key)), [id])
  assert.equal((await send(app, 'GET', `/v1/files/${id}`, { key: app.colleague.key })).body.filename, 'a.bin')
  const deleted = await send(app, 'DELETE', `/v1/files/${id}`, { key: app.colleague.key })
  assert.deepEqual(deleted.body, { id, object: 'file', deleted: true })
})

test('a deleted file is gone from row, disk, list and reads, and cannot be deleted twice', async () => {
  const before = app.stored()
  const [id] = await upload(1)
  assert.equal(app.stored(), before + 1)
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(app, 'DELETE', `/v1/files/${id}`, app)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 404).length, 19)
  assert.equal(app.stored(), before)
  assert.deepEqual(ids(await list()), [])
  assert.equal((await send(app, 'GET', `/v1/files/${id}/content`, app)).status, 404)
})

test('401 without a key, 405 with the allowed methods for others', async () => {
  const { id } = await uploaded(app, 'x')
  for (const path of ['/v1/files', `/v1/files/${id}`, `/v1/files/${id}/content`]) {
    assert.equal((await fetch(app.url + path)).status, 401)
    const { status, headers } = await send(app, 'PATCH', path, app)
    assert.equal(status, 405)
    assert.match(headers.get('allow')!, /GET/)
  }
})

test('a page of thousands waits until the organization has room for it in memory, and is 429 when it has none in time', async () => {
  await upload(1)
  const { budget } = app.ctx
  try {
    for (const [wait_seconds, status] of [
      [0.01, 429],
      [600, 200],
    ] as const) {
      app.ctx.budget = openByteBudget({ wait_seconds })
      const others = app.ctx.budget.open(`${app.org_id} reads`)
      others.add(64 * 1024 * 1024)
      const large = list('?limit=10000')
      assert.equal((await list()).status, 200)
      if (status === 200) others.end()
      assert.equal((await large).status, status)
    }
  } finally {
    app.ctx.budget = budget
  }
})
