import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { EVENT_TYPES } from '../../../server/webhooks/event.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'

let app: TestApp
let owner: TestPerson
before(async () => {
  app = await startApp()
  owner = await newCustomer(app)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const PATH = '/v1/webhook_endpoints'
const BODY = { name: 'Production', url: 'https://hooks.example.com/kinora?x=1', event_types: ['video.completed'] }
const create = (body: object, person = owner) => send(app, 'POST', PATH, { key: person.key }, body)

test('200 on creation with the secret, which is shown here and never again, and is not in the database', async () => {
  const made = await create({ ...BODY, event_types: ['video.completed', 'balance.low', 'video.completed'] })
  const { signing_secret, id, created_at, ...rest } = made.body
  assert.equal(made.status, 200)
  assert.equal(made.headers.get('cache-control'), 'no-store')
  assert.match(id, /^whe_[0-9A-Z]{26}$/)
  assert.match(signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(rest, {
    object: 'webhook_endpoint',
    name: BODY.name,
    url: BODY.url,
    event_types: ['video.completed', 'balance.low'],
    ...{
      low_balance: '10.00000000',
      updated_at: created_at,
      signing_secret_hint: `whsec_...${signing_secret.slice(-4)}`,
    },
    enabled: true,
    disabled_reason: null,
    failing_since: null,
    previous_secret_until: null,
  })
  const read = await send(app, 'GET', `${PATH}/${id}`, { key: owner.key })
  assert.deepEqual(read.body, { id, created_at, ...rest })
  const { rows } = await app.database.pool.query('select w::text from webhook_endpoints w')
  assert.ok(!JSON.stringify(rows).includes(signing_secret.slice(6)))
  await send(app, 'DELETE', `${PATH}/${id}`, { key: owner.key })
})

test('400 for an address that is private, not https, has a port or a password, naming the field', async () => {
  for (const url of [
    ...['http://example.com/', 'https://127.0.0.1/', 'https://10.0.0.1/', 'https://[::1]/', 'https://169.254.169.254/'],
    ...[
      'https://example.com:8443/',
      'https://example.com:80/',
      'https://me:secret@example.com/',
      'ftp://example.com/',
      'example.com',
      'https://2130706433/',
    ],
    ...['http://localhost:3000/', 'https://[::ffff:127.0.0.1]/'],
  ]) {
    const answer = await create({ ...BODY, url })
    assertRefused(answer, { status: 400, code: 'invalid_value', param: 'url' })
  }
})

test('200 with the URL normalized, and one that is the same then is no new receiver', async () => {
  for (const [url, stored] of [
    ['HTTPS://Hooks.EXAMPLE.com:443/a/../kinora?x=1', 'https://hooks.example.com/kinora?x=1'],
    ['https:\\\\例え.jp\\フック', 'https://xn--r8jz45g.jp/%E3%83%95%E3%83%83%E3%82%AF'],
    [' https://example.com/a\tb ', 'https://example.com/ab'],
  ] as const) {
    const { status, body } = await create({ ...BODY, url })
    assert.deepEqual([status, body.url], [200, stored])
    const path = `${PATH}/${body.id}`
    await app.database.pool.query('update webhook_endpoints set failing_since = now() where id = $1', [body.id])
    const same = await send(app, 'POST', path, { key: owner.key }, { url })
    assert.equal(same.body.url, stored)
    assert.notEqual(same.body.failing_since, null)
    const other = await send(app, 'POST', path, { key: owner.key }, { url: `${url.trim()}/v2` })
    assert.deepEqual([other.body.url, other.body.failing_since], [`${stored}/v2`, null])
    await send(app, 'DELETE', path, { key: owner.key })
  }
  const long = { ...BODY, url: `https://example.com/${'例'.repeat(2000)}` }
  assertRefused(await create(long), { status: 400, code: 'invalid_value', param: 'url' })
})

test('400 for a body that is not right, naming the field', async () => {
  for (const [change, param, code] of [
    [{ name: undefined }, 'name', 'missing_required_parameter'],
    [{ name: '' }, 'name', 'string_below_min_length'],
    [{ url: undefined }, 'url', 'missing_required_parameter'],
    [{ event_types: [] }, 'event_types', 'array_below_min_length'],
    [{ event_types: ['video.started'] }, 'event_types[0]', 'invalid_value'],
    [{ low_balance: '-1' }, 'low_balance', 'invalid_value'],
    [{ low_balance: 5 }, 'low_balance', 'invalid_type'],
    [{ extra: 1 }, 'extra', 'unknown_parameter'],
  ] as const) {
    assertRefused(await create({ ...BODY, ...change }), { status: 400, code, param })
  }
})

test('409 for more endpoints than an organization can have, also when they are created at the same time', async () => {
  const person = await newCustomer(app)
  const answers = await Promise.all(Array.from({ length: 22 }, () => create(BODY, person)))
  const made = answers.filter(({ status }) => status === 200)
  assert.equal(made.length, 20)
  for (const answer of answers) if (answer.status !== 200) assertRefused(answer, { status: 409, code: 'conflict' })
  const page = await send(app, 'GET', `${PATH}?limit=15`, { key: person.key })
  const rest = await send(app, 'GET', `${PATH}?limit=15&after=${page.body.last_id}`, { key: person.key })
  assert.deepEqual([page.body.has_more, rest.body.has_more], [true, false])
  const listed = [...page.body.data, ...rest.body.data].map(({ id }) => id)
  assert.deepEqual(
    listed,
    made
      .map(({ body }) => body.id)
      .sort()
      .reverse(),
  )
})

test('403 for members, by key and by login, whatever they ask', async () => {
  const member = await newColleague(app, owner.org_id, { role: 'member' })
  const { body } = await create(BODY)
  for (const caller of [{ key: member.key }, { cookie: member.cookie }]) {
    for (const [method, path, sent] of [
      ['GET', PATH, undefined],
      ['POST', PATH, BODY],
      ['GET', `${PATH}/${body.id}`, undefined],
      ['POST', `${PATH}/${body.id}`, { name: 'x' }],
      ['DELETE', `${PATH}/${body.id}`, undefined],
    ] as const) {
      assertRefused(await send(app, method, path, caller, sent), {
        status: 403,
        type: 'permission_error',
        code: 'permission_denied',
      })
    }
  }
  const admin = await newColleague(app, owner.org_id, { role: 'admin' })
  assert.equal((await send(app, 'GET', `${PATH}/${body.id}`, { cookie: admin.cookie })).status, 200)
})

test('200 on a change of what is given, and of nothing else', async () => {
  const { body } = await create(BODY)
  app.clock.advance(10)
  const change = (changes: object) => send(app, 'POST', `${PATH}/${body.id}`, { key: owner.key }, changes)
  const renamed = (await change({ name: 'Other' })).body
  const { signing_secret: _, ...made } = body
  assert.deepEqual(renamed, { ...made, name: 'Other', updated_at: body.updated_at + 10 })
  const moved = (await change({ url: 'https://example.org/', event_types: ['balance.empty'], low_balance: '0.5' })).body
  assert.deepEqual(
    [moved.url, moved.event_types, moved.low_balance],
    ['https://example.org/', ['balance.empty'], '0.50000000'],
  )
  assertRefused(await change({ url: 'http://example.org/' }), { status: 400, code: 'invalid_value', param: 'url' })
  const off = (await change({ enabled: false })).body
  assert.deepEqual([off.enabled, off.disabled_reason], [false, 'owner'])
  assert.deepEqual((await change({ enabled: true })).body.disabled_reason, null)
})

test('200 on deletion, then 404 on everything', async () => {
  const { body } = await create(BODY)
  const path = `${PATH}/${body.id}`
  const deleted = await send(app, 'DELETE', path, { key: owner.key })
  assert.deepEqual(deleted.body, { id: body.id, object: 'webhook_endpoint.deleted', deleted: true })
  for (const [method, end, sent] of [
    ['GET', '', undefined],
    ['POST', '', { name: 'x' }],
    ['DELETE', '', undefined],
    ['POST', '/rotate_secret', {}],
    ['POST', '/test', { event_type: 'video.completed' }],
    ['POST', '/redeliver', { since: 0 }],
    ['GET', '/deliveries', undefined],
  ] as const) {
    assertRefused(await send(app, method, path + end, { key: owner.key }, sent), { status: 404, code: 'not_found' })
  }
})

test('200 with the types of events there are', async () => {
  const { body } = await send(app, 'GET', '/v1/webhook_event_types', { key: owner.key })
  assert.deepEqual(body, { object: 'list', data: [...EVENT_TYPES] })
})
