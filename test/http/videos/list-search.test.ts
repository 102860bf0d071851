import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listJobs } from '../../../server/videos/list/store.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { movePastIds } from '../../support/http/past-ids.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, insertEndedJobs, insertLongJobs, submit } from '../../support/http/videos-app.ts'

const CONFIG = `
plans: { free: { max_concurrent_renders: 100 } }
video_models: [{ id: instant-1, engine: instant, per_second: "0.010000" }]
`

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
})
after(() => app.close())

type Listed = { id: string; prompt: string; created_at: number }

/** The pages of a list, as a client reads them that goes on after `last_id` while there is more. */
async function pages(query: Record<string, string | number>, as: TestPerson = person): Promise<Listed[][]> {
  const read: Listed[][] = []
  for (let after: string | null = null; ; ) {
    const text = new URLSearchParams({ ...query, ...(after && { after }) } as Record<string, string>)
    const { status, body } = await send(app, 'GET', `/v1/videos?${text}`, as)
    assert.equal(status, 200, JSON.stringify(body))
    read.push(body.data)
    if (!body.has_more) return read
    assert.notEqual(body.last_id, after, 'it goes on')
    after = body.last_id
  }
}
const list = async (query: Record<string, string | number>, as?: TestPerson) => (await pages(query, as)).flat()
const prompts = async (query: Record<string, string | number>, as?: TestPerson) =>
  (await list(query, as)).map(({ prompt }) => prompt)

test('a search finds a text anywhere in a prompt, of one character or many, in any case, and takes none for a pattern', async () => {
  person = await newCustomer(app)
  const all = ['A Lighthouse at night', '夜の灯台を歩く猫', '100% wool, 1_0']
  for (const prompt of all) {
    await submit(app, person, { prompt })
    app.clock.advance(1)
  }
  const [english, japanese, signs] = all as [string, string, string]
  const found: Array<[string, string[]]> = [
    ['lightHOUSE', [english]],
    ['灯台', [japanese]],
    ['猫', [japanese]],
    ['台を歩く猫', [japanese]],
    ['0% w', [signs]],
    ['1_0', [signs]],
    ['o', [signs, english]],
    ['1%w', []],
    ['犬', []],
  ]
  for (const [search, expected] of found) assert.deepEqual(await prompts({ search }), expected, search)
  assert.deepEqual(await list({ search: '灯台' }, await newCustomer(app)), [], 'of another organization')
})

test('jobs are listed by person, time and cost, alone and with every other filter', async () => {
  movePastIds(app.clock)
  person = await newCustomer(app)
  const colleague = await newColleague(app, person.org_id)
  for (const [i, as] of [person, colleague, person, colleague].entries()) {
    const { status, body } = await submit(app, as, { prompt: `Boat ${i}`, seconds: 4 + i })
    assert.equal(status, 200)
    app.clock.advance(60)
    if (i === 1) await send(app, 'POST', `/v1/videos/${body.id}/cancel`, as)
  }
  const all = await list({ order: 'asc' })
  const [, second, third] = all.map(({ created_at }) => created_at)
  const numbers = async (query: Record<string, string | number>) =>
    (await prompts({ order: 'asc', limit: 1, ...query })).map((prompt) => Number(prompt.slice(-1)))
  assert.deepEqual(await numbers({ user_id: person.user_id }), [0, 2])
  assert.deepEqual(await numbers({ user_id: colleague.user_id, status: 'canceled' }), [1])
  assert.deepEqual(await numbers({ user_id: colleague.user_id, model: 'nothing' }), [])
  assert.deepEqual(await numbers({ created_after: second!, created_before: third! }), [1])
  assert.deepEqual(await numbers({ created_after: third!, user_id: person.user_id }), [2])
  assert.deepEqual(await numbers({ cost_min: '0.05', cost_max: '0.06' }), [1, 2])
  assert.deepEqual(await numbers({ cost_min: '0.05', status: 'canceled,moderating', search: 'boat' }), [1, 2, 3])
  assert.deepEqual(await numbers({ user_id: (await newCustomer(app)).user_id }), [])
  const submitters = (as: TestPerson) => send(app, 'GET', '/console/videos/submitters', { cookie: as.cookie })
  const names = ({ body }: Awaited<ReturnType<typeof submitters>>) => body.data.map(({ id }: { id: string }) => id)
  assert.deepEqual(names(await submitters(colleague)), [person.user_id, colleague.user_id].sort())
  assert.deepEqual(names(await submitters(await newCustomer(app))), [])
})

test('400 for what is no text, time or amount', async () => {
  person = await newCustomer(app)
  const wrong = [
    'search=',
    `search=${'x'.repeat(201)}`,
    'search=%00',
    'created_after=x',
    'created_before=-1',
    'cost_min=a',
    'cost_min=99999999999',
    'cost_max=-1',
    'cost_max=1e3',
  ]
  for (const query of wrong) {
    const answer = await send(app, 'GET', `/v1/videos?${query}`, person)
    assertInvalid(answer, query.split('=')[0]!)
  }
})

test('what is rare is found page by page: one looks at 5,000 jobs at most, and says where the next goes on', async () => {
  person = await newCustomer(app)
  await insertEndedJobs(app.database, person, 12_001)
  for (const order of ['desc', 'asc']) {
    const read = await pages({ search: 'number 6000 of', order })
    assert.deepEqual(
      read.map(({ length }) => length),
      [0, 1, 0],
      order,
    )
  }
  assert.deepEqual(
    (await pages({ cost_min: '5' })).map(({ length }) => length),
    [0, 0, 0],
  )
  const many = await list({ search: 'of many', limit: 100 })
  assert.equal(new Set(many.map(({ id }) => id)).size, 12_001)
  const { body } = await send(app, 'GET', '/v1/videos?search=nothing', person)
  assert.deepEqual([body.data, body.first_id, body.has_more], [[], null, true])
})

test('a search reads 4 MB of prompts at most for a page, and all of them in the end', async () => {
  person = await newCustomer(app)
  const ids = await insertLongJobs(app.database, person, 350)
  const read = await pages({ search: '\u{1F3AC}'.repeat(200), limit: 100 })
  assert.equal(new Set(read.flat().map(({ id }) => id)).size, ids.length)
  const none = await pages({ search: 'boat' })
  assert.ok(none.length >= 3, `${none.length} pages for 9.8 MB`)
  const page = { org_id: person.org_id, limit: 5, after: null, order: 'desc', bytes_max: 1e9, search: 'boat' } as const
  const { content } = await listJobs(app.database.db, page)
  assert.equal(content!.walked_to, ids.at(-Math.ceil(4_000_000 / 28_000)))
})
