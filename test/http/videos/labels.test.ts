import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../../server/platform/db/db.ts'
import { listJobs } from '../../../server/videos/list/store.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, insertEndedJobs, submit } from '../../support/http/videos-app.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let own: TestPerson
let colleague: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
})
after(() => app.close())

async function videos(...prompts: string[]): Promise<string[]> {
  own = await newCustomer(app)
  colleague = await newColleague(app, own.org_id)
  const ids = []
  for (const prompt of prompts) {
    ids.push((await submit(app, own, { prompt })).body.id)
    app.clock.advance(1)
  }
  return ids
}

const change = ({ cookie }: TestPerson, body: object) =>
  send(app, 'PATCH', '/console/videos/labels', { cookie: cookie! }, body)
const read = async ({ cookie }: TestPerson, ids: readonly string[]) => {
  const { status, body } = await send(app, 'GET', `/console/videos/labels?ids=${ids}`, { cookie: cookie! })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}
const labelsOf = async (person: TestPerson, id: string) => {
  const [{ name, tags, favorite }] = await read(person, [id])
  return { name, tags, favorite }
}
const list = async (caller: { key?: string; cookie?: string }, query: string) => {
  const { status, body } = await send(app, 'GET', `/v1/videos?order=asc&${query}`, caller)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.map(({ id }: { id: string }) => id)
}

test('200: a name and tags are of the organization, whoever wrote them, and a favorite is of one person', async () => {
  const [id] = (await videos('A boat')) as [string]
  assert.deepEqual(await labelsOf(own, id), { name: null, tags: [], favorite: false })
  const { status, body } = await change(colleague, {
    ids: [id],
    name: '  Opening\n shot ',
    tags: ['Launch'],
    favorite: true,
  })
  assert.equal(status, 200)
  const labels = { id, object: 'video_labels', name: 'Opening shot', tags: ['Launch'], favorite: true }
  assert.deepEqual(body, { object: 'list', data: [labels] })
  assert.deepEqual(await read(own, [id]), [{ ...labels, favorite: false }])
  await change(own, { ids: [id], favorite: true })
  await change(colleague, { ids: [id], favorite: false, name: ' ' })
  assert.deepEqual(await labelsOf(own, id), { name: null, tags: ['Launch'], favorite: true })
  assert.deepEqual(await labelsOf(colleague, id), { name: null, tags: ['Launch'], favorite: false })
  // The shape of the API stays as it is.
  const job = (await send(app, 'GET', `/v1/videos/${id}`, own)).body
  assert.deepEqual(
    Object.keys(job).filter((name) => ['name', 'tags', 'favorite'].includes(name)),
    [],
  )
})

test('a member who may delete only their own videos names those of others too', async () => {
  const [id] = (await videos('A boat')) as [string]
  await send(app, 'PATCH', '/console/organization', { cookie: own.cookie }, { members_delete: 'own' })
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, colleague)).status, 403)
  assert.equal((await change(colleague, { ids: [id], name: 'Theirs' })).status, 200)
  assert.equal((await labelsOf(own, id)).name, 'Theirs')
})

test('tags differ by more than case, are added to those there are, and 400 says when there are too many: nothing is changed then', async () => {
  const [one, two] = (await videos('A boat', 'Two boats')) as [string, string]
  await change(own, { ids: [one], tags: [' Sea ', 'sea', '海', 'SEA', 'a  b'] })
  assert.deepEqual((await labelsOf(own, one)).tags, ['Sea', '海', 'a b'])
  const added = await change(own, { ids: [two, one], add_tags: ['sEA', 'night'] })
  assert.deepEqual(
    added.body.data.map(({ id, tags }: { id: string; tags: string[] }) => [id, tags]),
    [
      [two, ['sEA', 'night']],
      [one, ['Sea', '海', 'a b', 'night']],
    ],
  )
  const many = Array.from({ length: 20 }, (_, at) => `tag ${at}`)
  assertRefused(await change(own, { ids: [two, one], add_tags: many, name: 'No' }), {
    status: 400,
    code: 'invalid_value',
    param: 'add_tags',
    message: /at most 20 tags/,
  })
  assert.deepEqual(await labelsOf(own, two), { name: null, tags: ['sEA', 'night'], favorite: false })
  assert.equal((await change(own, { ids: [one, two], tags: many })).status, 200)
  assert.equal((await change(own, { ids: [one], add_tags: ['TAG 3'] })).status, 200)
  assert.equal((await change(own, { ids: [one], tags: ['x'], add_tags: many })).status, 400)
  assert.deepEqual((await labelsOf(own, one)).tags, many)
})

test('people who add tags at the same time all find theirs', async () => {
  const ids = await videos('A boat', 'Two boats')
  const tags = Array.from({ length: 10 }, (_, at) => `tag ${at}`)
  await Promise.all(
    tags.map((tag, at) => change(at % 2 ? own : colleague, { ids: at % 2 ? ids : ids.toReversed(), add_tags: [tag] })),
  )
  for (const id of ids) assert.deepEqual((await labelsOf(own, id)).tags.toSorted(), tags)
})

test('400 names the field and the remedy', async () => {
  const [id] = (await videos('A boat')) as [string]
  const wrong: Array<[object, string]> = [
    [{ ids: [] }, 'ids'],
    [{ ids: Array(101).fill(id) }, 'ids'],
    [{ ids: id }, 'ids'],
    [{ ids: [id], name: 'x'.repeat(201) }, 'name'],
    [{ ids: [id], tags: ['ok', ' '] }, 'tags[1]'],
    [{ ids: [id], tags: ['x'.repeat(51)] }, 'tags[0]'],
    [{ ids: [id], tags: Array.from({ length: 21 }, (_, at) => `${at}`) }, 'tags'],
    [{ ids: [id], add_tags: [7] }, 'add_tags[0]'],
    [{ ids: [id], favorite: 'yes' }, 'favorite'],
    [{ ids: [id], title: 'x' }, 'title'],
  ]
  for (const [body, param] of wrong) {
    const answer = await change(own, body)
    assert.deepEqual([answer.status, answer.body.error?.param], [400, param], JSON.stringify(answer.body))
  }
  for (const query of ['', '?ids=', `?ids=${Array.from({ length: 201 }, (_, at) => at)}`]) {
    const answer = await send(app, 'GET', `/console/videos/labels${query}`, { cookie: own.cookie })
    assert.deepEqual([answer.status, answer.body.error?.param], [400, 'ids'], query)
  }
  for (const query of ['tag=', `tag=${'x'.repeat(51)}`, 'favorite=maybe', 'favorite=false'])
    assertInvalid(await send(app, 'GET', `/v1/videos?${query}`, own), query.split('=')[0]!)
  assert.equal(
    (await change(own, { ids: [id], name: '\u{1F3AC}'.repeat(200), tags: ['\u{1F3AC}'.repeat(50)] })).status,
    200,
  )
})

test('404 where one video is of another organization, malformed or gone, and nothing is changed', async () => {
  const [theirs] = (await videos('A boat')) as [string]
  const owner = own
  const [id] = (await videos('My boat')) as [string]
  const none = theirs.replace(/.{26}$/, '0'.repeat(26))
  const answers = await Promise.all(
    [theirs, none, 'x', "video_'"].map((other) => change(own, { ids: [id, other], name: 'Mine', favorite: true })),
  )
  for (const { status, body } of answers) assert.deepEqual([status, body.error], [404, answers[1]!.body.error])
  assert.deepEqual(await labelsOf(own, id), { name: null, tags: [], favorite: false })
  assert.deepEqual(await labelsOf(owner, theirs), { name: null, tags: [], favorite: false })
  assert.deepEqual(await read(own, [theirs, none, 'x']), [])
})

test('lists find a tag in any case, the favorites of who asks, and names and tags by a search, with every other filter', async () => {
  const ids = await videos('A lighthouse', 'A cat', 'A boat', 'Another boat')
  const [lighthouse, cat, boat, another] = ids as [string, string, string, string]
  await change(own, { ids: [lighthouse, boat], add_tags: ['Sea', '海辺'] })
  await change(own, { ids: [cat], name: 'Émile at the sea' })
  await change(own, { ids: [boat, cat, another], favorite: true })
  await change(colleague, { ids: [lighthouse], favorite: true })
  await send(app, 'POST', `/v1/videos/${boat}/cancel`, own)
  for (const [query, expected] of [
    ['tag=sEA', [lighthouse, boat]],
    [`tag=${encodeURIComponent('海辺')}`, [lighthouse, boat]],
    ['tag=se', []],
    ['tag=%25', []],
    ['favorite=true', [cat, boat, another]],
    ['favorite=true&limit=1', [cat]],
    [`favorite=true&after=${cat}`, [boat, another]],
    ['favorite=true&tag=sea', [boat]],
    ['favorite=true&status=canceled', [boat]],
    ['favorite=true&search=BOAT', [boat, another]],
    [`favorite=true&user_id=${colleague.user_id}`, []],
    ['search=sea', [lighthouse, cat, boat]],
    [`search=${encodeURIComponent('海')}`, [lighthouse, boat]],
    ['search=mile+at', [cat]],
    ['search=sea&status=canceled', [boat]],
    ['tag=sea&model=nothing', []],
    [`tag=sea&user_id=${own.user_id}&status=canceled&model=instant-1`, [boat]],
    [`tag=sea&cost_min=99`, []],
  ] as const) {
    assert.deepEqual(await list({ cookie: own.cookie }, query), expected, query)
    assert.deepEqual(await list({ key: own.key }, query), expected, `${query} by key`)
  }
  assert.deepEqual(await list({ key: colleague.key }, 'favorite=true'), [lighthouse])
  const rival = await newCustomer(app)
  for (const query of ['tag=sea', 'favorite=true', 'search=sea']) assert.deepEqual(await list(rival, query), [])
  const tags = async (cookie: string) => (await send(app, 'GET', '/console/videos/tags', { cookie })).body
  await change(own, { ids: [cat], add_tags: ['night', 'SEA'] })
  assert.deepEqual(await tags(own.cookie), {
    object: 'list',
    data: ['Sea', '海辺', 'night'].map((id) => ({ id, object: 'video_tag' })),
  })
  assert.deepEqual((await tags(rival.cookie)).data, [])
})

test('labels are deleted with their video', async () => {
  const [id] = (await videos('A boat')) as [string]
  await change(own, { ids: [id], name: 'Gone', tags: ['soon'], favorite: true })
  await send(app, 'POST', `/v1/videos/${id}/cancel`, own)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, own)).status, 200)
  for (const table of ['video_labels', 'video_favorites']) {
    const { rows } = await app.database.pool.query(`select from ${table} where org_id = $1`, [own.org_id])
    assert.equal(rows.length, 0, table)
  }
  assert.equal((await change(own, { ids: [id], name: 'Late' })).status, 404)
})

test('nothing is stored of a video without name and tags', async () => {
  const [id] = (await videos('A boat')) as [string]
  await change(own, { ids: [id], name: 'A name', tags: ['a tag'] })
  await change(own, { ids: [id], name: '' })
  await change(own, { ids: [id], tags: [] })
  const { rows } = await app.database.pool.query('select from video_labels where org_id = $1', [own.org_id])
  assert.equal(rows.length, 0)
})

test('the tags of 5,000 videos are counted for one request of an organization at a time', async (t) => {
  await videos('A boat')
  const client = await app.database.pool.connect()
  t.after(async () => {
    await client.query('rollback')
    client.release()
  })
  await client.query('begin; lock table video_labels in access exclusive mode')
  const tags = () => send(app, 'GET', '/console/videos/tags', { cookie: own.cookie })
  const asked = Array.from({ length: 4 }, tags)
  const waiting = async (): Promise<number> => {
    const { rows } = await client.query(
      "select count(*)::int as n from pg_locks where relation = 'video_labels'::regclass and not granted",
    )
    return rows[0].n
  }
  while ((await waiting()) === 0);
  // Answered after those before it have arrived.
  for (let i = 0; i < 4; i++) assert.equal((await send(app, 'GET', '/v1/videos', own)).status, 200)
  assert.equal(await waiting(), 1)
  await client.query('rollback')
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
})

async function rowsRead(tx: Tx): Promise<number> {
  const { rows } = await sql<{ read: string }>`
    select sum(seq_tup_read + idx_tup_fetch) as read from pg_stat_xact_user_tables
    where relname in ('video_jobs', 'video_labels', 'video_favorites')`.execute(tx)
  return Number(rows[0]!.read)
}

test('a page of favorites or of a tag reads about what it shows, however many videos and labels there are', async () => {
  own = await newCustomer(app)
  const { pool, db } = app.database
  await insertEndedJobs(app.database, own, 20_000, 0x40001)
  await pool.query(
    `insert into video_labels (job_id, org_id, name, tags)
     select id, org_id, 'Named ' || id, array['common'] from video_jobs where org_id = $1`,
    [own.org_id],
  )
  await pool.query(
    `insert into video_favorites (job_id, org_id, user_id)
     select id, org_id, $2 from video_jobs where org_id = $1 and right(id, 2) = '00'`,
    [own.org_id, own.user_id],
  )
  await pool.query('analyze video_jobs, video_labels, video_favorites')
  for (const [filter, jobs_max] of [
    [{ favorite_of: own.user_id }, 50],
    [{ favorite_of: own.user_id, statuses: ['completed'] as const }, 500],
    [{ tag: 'rare' }, 15_100],
    [{ search: 'nowhere' }, 10_100],
  ] as const) {
    const read = await db.transaction().execute(async (tx) => {
      const page = { org_id: own.org_id, limit: 5, after: null, order: 'desc', bytes_max: 1e6, ...filter } as const
      const before = await rowsRead(tx)
      await listJobs(tx, page)
      return (await rowsRead(tx)) - before
    })
    assert.ok(read > 0 && read <= jobs_max, `${JSON.stringify(filter)}: ${read} rows were read`)
  }
})
