import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, submit } from '../../support/http/videos-app.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const read = (id: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(app, method, `/v1/videos/${id}`, { key: person.key, headers })
const list = (query = '', caller: TestPerson = person) => send(app, 'GET', `/v1/videos${query}`, { key: caller.key })
const ids = (answer: HttpResponse): string[] => answer.body.data.map((job: { id: string }) => job.id)

async function submitted(count: number, owner: TestPerson = person): Promise<string[]> {
  const made: string[] = []
  for (let i = 0; i < count; i++) made.push((await submit(app, owner)).body.id)
  return made
}

test('200 with the job as created, then as completed, by key and by console login', async () => {
  const created = await submit(app, person)
  const { id } = created.body
  assert.deepEqual((await read(id)).body, created.body)
  app.clock.advance(5)
  await app.tick()
  const now = Math.floor(app.clock.now().getTime() / 1000)
  const done = await send(app, 'GET', `/v1/videos/${id}`, { cookie: person.cookie })
  const ended = { status: 'completed', completed_at: now, progress: 100, expires_at: now + 30 * 86_400 }
  assert.deepEqual(done.body, { ...created.body, ...ended })
})

test('openai-poll-after-ms until the job has ended, and not after', async () => {
  const [id] = await submitted(1)
  assert.equal((await read(id!)).headers.get('openai-poll-after-ms'), '10000')
  await app.tick()
  assert.equal((await read(id!)).headers.get('openai-poll-after-ms'), null)
})

test('304 while nothing has changed, and 200 as soon as something has', async () => {
  const [id] = await submitted(1)
  const first = await read(id!)
  const etag = first.headers.get('etag')!
  assert.match(etag, /^W\/"/)
  for (const tags of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
    const same = await read(id!, { 'if-none-match': tags })
    assert.deepEqual([same.status, same.body, same.headers.get('etag')], [304, null, etag], tags)
    assert.equal(same.headers.get('openai-poll-after-ms'), '10000')
  }
  assert.equal((await read(id!, { 'if-none-match': '"other"' })).status, 200)
  await app.tick()
  const changed = await read(id!, { 'if-none-match': etag })
  assert.deepEqual([changed.status, changed.body.status], [200, 'completed'])
})

test('HEAD answers as GET without the body, a trailing slash changes nothing', async () => {
  const [id] = await submitted(1)
  const get = await read(id!)
  const head = await read(id!, {}, 'HEAD')
  assert.deepEqual([head.status, head.body], [200, null])
  for (const name of ['content-type', 'content-length', 'etag', 'openai-poll-after-ms', 'cache-control']) {
    assert.equal(head.headers.get(name), get.headers.get(name), name)
  }
  assert.deepEqual((await read(`${id}/`)).body, get.body)
  for (const path of ['', '/models', '/acceptance']) {
    assert.equal((await send(app, 'HEAD', `/v1/videos${path}`, person)).status, 200)
    assert.equal((await send(app, 'GET', `/v1/videos${path}/`, person)).status, 200)
  }
})

test('404 with one body for ids that are unknown, malformed, foreign or of another kind', async () => {
  const rival = await newCustomer(app)
  const [foreign] = await submitted(1, rival)
  const missing = {
    status: 404,
    code: 'not_found',
    message: 'No such video. Check the id and that it belongs to your organization.',
  }
  const malformed = [
    'x',
    'video_',
    foreign!.toLowerCase(),
    `${foreign}0`,
    'file-00000000000000000000000000',
    '%F0%9F%8E%AC',
    "'%20or%201=1--",
    'x'.repeat(500),
  ]
  for (const id of ['video_00000000000000000000000000', foreign!, ...malformed]) {
    for (const path of [id, `${id}/content`]) assertRefused(await read(path), missing)
    assertRefused(await read(id, {}, 'DELETE'), missing)
    assertRefused(await read(`${id}/cancel`, {}, 'POST'), missing)
  }
})

test('404 unknown_url, never 500, for a malformed path', async () => {
  for (const path of ['x'.repeat(600), '%00', '%zz', '%', '%c0%af', `${'a/'.repeat(50)}b`]) {
    assertRefused(await read(path), { status: 404, code: 'unknown_url' })
  }
})

test('405 with the methods there are; 404 unknown_url for what OpenAI offers and this API does not', async () => {
  const [id] = await submitted(1)
  const wrong: ReadonlyArray<[method: string, path: string, allow: string]> = [
    ['PUT', '/v1/videos', 'POST, GET, HEAD'],
    ['DELETE', '/v1/videos/', 'POST, GET, HEAD'],
    ['POST', '/v1/videos/models', 'GET, HEAD'],
    ['DELETE', '/v1/videos/acceptance', 'GET, POST, HEAD'],
    ['POST', `/v1/videos/${id}`, 'GET, DELETE, HEAD'],
    ['PATCH', `/v1/videos/${id}`, 'GET, DELETE, HEAD'],
    ['POST', `/v1/videos/${id}/content`, 'GET, HEAD'],
    ['GET', `/v1/videos/${id}/cancel`, 'POST'],
    ['OPTIONS', '/v1/videos', 'POST, GET, HEAD'],
  ]
  for (const [method, path, allow] of wrong) {
    const answer = await send(app, method, path, person)
    assertRefused(answer, { status: 405, code: 'method_not_allowed' })
    assert.deepEqual(answer.headers.get('allow')!.split(', ').sort(), allow.split(', ').sort(), `${method} ${path}`)
  }
  const offered = ['edits', 'remix', 'extensions', 'characters', `${id}/remix`, `${id}/edits`, 'video_123']
  for (const path of offered) {
    assertRefused(await send(app, 'POST', `/v1/videos/${path}`, person, {}), { status: 404, code: 'unknown_url' })
  }
  assertRefused(await send(app, 'GET', '/v1/video', person), { status: 404, code: 'unknown_url' })
})

test('list: newest first, by pages, forwards and backwards, without gap or duplicate', async () => {
  const org = await newCustomer(app)
  assert.deepEqual((await list('', org)).body, {
    object: 'list',
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  })
  const made = await submitted(23, org)
  const newest = made.toReversed()
  const first = await list('', org)
  assert.deepEqual(ids(first), newest.slice(0, 20))
  assert.deepEqual([first.body.first_id, first.body.last_id, first.body.has_more], [newest[0], newest[19], true])
  const second = await list(`?after=${first.body.last_id}`, org)
  assert.deepEqual([ids(second), second.body.has_more], [newest.slice(20), false])
  assert.deepEqual(ids(await list('?limit=1', org)), newest.slice(0, 1))
  assert.deepEqual(ids(await list('?limit=100', org)), newest)
  assert.deepEqual(ids(await list('?order=asc&limit=5', org)), made.slice(0, 5))
  assert.deepEqual(ids(await list(`?order=asc&limit=100&after=${made[4]}`, org)), made.slice(5))
  assert.deepEqual((await list('?limit=23', org)).body.has_more, false)
  const one = await send(app, 'GET', `/v1/videos/${made[0]}`, org)
  assert.deepEqual((await list(`?order=asc&limit=1`, org)).body.data, [one.body])
})

test('list: a cursor that was deleted or is foreign is still a place in time', async () => {
  const org = await newCustomer(app)
  const [a, b, c] = await submitted(3, org)
  const [foreign] = await submitted(1)
  const [d] = await submitted(1, org)
  await send(app, 'POST', `/v1/videos/${b}/cancel`, org)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${b}`, org)).status, 200)
  assert.deepEqual(ids(await list(`?after=${b}`, org)), [a])
  assert.deepEqual(ids(await list(`?after=${foreign}`, org)), [c, a])
  assert.deepEqual(ids(await list(`?order=asc&after=${foreign}`, org)), [d])
  assert.deepEqual(ids(await list('?after=video_00000000000000000000000000', org)), [])
})

test('400 for an invalid limit, order or cursor', async () => {
  const [id] = await submitted(1)
  const values: Record<string, string[]> = {
    limit: ['0', '101', '-1', '10abc', '1e1', '1.0', '', '%2010', '1e9', '9'.repeat(30), '1&limit=2', 'null', '０'],
    order: ['', 'ASC', 'newest', 'asc&order=desc'],
    after: [
      '',
      'x',
      'video_',
      id!.toLowerCase(),
      `${id}x`,
      id!.slice(6),
      `file-${id!.slice(6)}`,
      '%00',
      "video_'--",
      `${id}&after=${id}`,
    ],
  }
  for (const [param, texts] of Object.entries(values)) {
    for (const text of texts) assertInvalid(await list(`?${param}=${text}`), param)
  }
  assert.equal((await list('?unknown=1&limit=1')).status, 200)
})

test('401 without a credential on every path, with the challenge', async () => {
  const [id] = await submitted(1)
  const paths = ['', '/models', '/acceptance', `/${id}`, `/${id}/content`]
  for (const path of paths) {
    const answer = await send(app, 'GET', `/v1/videos${path}`)
    assertRefused(answer, { status: 401, code: 'missing_api_key', type: 'authentication_error' })
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
  }
})

test('400 that names the maximum for a limit that is too large for an integer', async () => {
  const { status, body } = await list('?limit=99999999999999999999')
  assert.equal(status, 400)
  assert.match(body.error.message, /integer above maximum value\. Expected a value <= 100/)
})

test('405 for a method a job does not have, whatever the id; 404 unknown_url for calls other APIs have there', async () => {
  for (const id of ['video_x', 'edits', 'video_01M7WPCJJA2ZV43KAZ4TZBWBWB']) {
    assert.equal((await read(id, {}, 'PATCH')).body.error.code, 'method_not_allowed', id)
  }
  assert.equal((await read('edits', {}, 'POST')).body.error.code, 'unknown_url')
})
