import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, type Person, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
let owner: Person
let member: Person
let outsider: Person
let browsers: Record<'owner' | 'member' | 'outsider', { cookie: string }>

before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
  const org = await newOrganization(app)
  owner = await newPerson(app, org, 'owner')
  member = await newPerson(app, org)
  outsider = await newPerson(app, await newOrganization(app, 'Rival'), 'owner')
  browsers = {
    owner: await browserOf(app, owner),
    member: await browserOf(app, member),
    outsider: await browserOf(app, outsider),
  }
})
after(() => app.close())

const make = (browser: { cookie: string }, body: unknown) => send(app, 'POST', '/console/api_keys', browser, body)
const list = (browser: { cookie: string }, query = '') => send(app, 'GET', `/console/api_keys${query}`, browser)
const ids = ({ body }: { body: { data: Array<{ id: string }> } }) => body.data.map(({ id }) => id)

test('200 with a key that calls as the person who made it, in the organization of the session', async () => {
  const answer = await make(browsers.member, { name: 'My laptop' })
  assert.equal(answer.status, 200)
  const { key, id, ...rest } = answer.body
  assert.match(key, /^kin_[0-9A-Za-z]{36}$/)
  assert.deepEqual(rest, {
    object: 'api_key',
    name: 'My laptop',
    hint: `kin_...${key.slice(-4)}`,
    created_at: Math.floor(app.clock.now().getTime() / 1000),
    last_used_at: null,
    user_id: member.user_id,
  })
  const { body } = await send(app, 'GET', '/v1/whoami', { key })
  assert.deepEqual(body, {
    org_id: member.org_id,
    user_id: member.user_id,
    role: 'member',
    plan: 'free',
    via: 'api_key',
    key_id: id,
    session_id: null,
  })
})

test('400 for a key for another person or with more than a name: only the session decides whose it is', async () => {
  for (const extra of [
    { user_id: owner.user_id },
    { org_id: outsider.org_id },
    { organization_id: outsider.org_id },
    { role: 'owner' },
  ]) {
    const answer = await make(browsers.member, { name: 'x', ...extra })
    assert.equal(answer.status, 400)
    assert.equal(answer.body.error.code, 'unknown_parameter')
  }
  for (const name of ['', 'x'.repeat(101), 5]) assert.equal((await make(browsers.member, { name })).status, 400)
  assert.equal((await make(browsers.member, {})).body.error.code, 'missing_required_parameter')
})

test('a key is shown once and stored nowhere', async () => {
  const { key } = (await make(browsers.member, { name: 'x' })).body
  assert.ok(!JSON.stringify((await list(browsers.member)).body).includes(key))
  const { rows } = await sql`select * from api_keys`.execute(app.database.db)
  const stored = JSON.stringify(rows)
  assert.ok(!stored.includes(key) && !stored.includes(key.slice(4, 34)))
})

test('members see their own keys, owners everybody’s in the organization and nobody else’s', async () => {
  const mine = ids(await list(browsers.member))
  assert.ok(mine.includes(member.key_id) && !mine.includes(owner.key_id))
  const all = ids(await list(browsers.owner))
  assert.ok(all.includes(member.key_id) && all.includes(owner.key_id) && !all.includes(outsider.key_id))
  assert.deepEqual(ids(await list(browsers.outsider)), [outsider.key_id])
})

test('pages follow one another without gap or repetition, newest first', async () => {
  for (let n = 0; n < 5; n++) await make(browsers.owner, { name: `page ${n}` })
  const all = ids(await list(browsers.owner))
  assert.deepEqual(all, [...all].sort().reverse())
  const paged: string[] = []
  for (let more = true; more; ) {
    const { body } = await list(browsers.owner, `?limit=2${paged.length > 0 ? `&after=${paged.at(-1)}` : ''}`)
    paged.push(...ids({ body }))
    more = body.has_more
  }
  assert.deepEqual(paged, all)
  assert.deepEqual(ids(await list(browsers.owner, '?order=asc')), [...all].reverse())
  for (const query of ['?limit=0', '?limit=101', '?limit=2x', '?after=key_1']) {
    assert.equal((await list(browsers.owner, query)).status, 400, query)
  }
})

test('200 on revoking, and the key is refused from then on', async () => {
  const { id, key } = (await make(browsers.member, { name: 'x' })).body
  assert.equal((await send(app, 'GET', '/v1/whoami', { key })).status, 200)
  const answer = await send(app, 'DELETE', `/console/api_keys/${id}`, browsers.member)
  assert.deepEqual(answer.body, { id, object: 'api_key', deleted: true })
  const refused = await send(app, 'GET', '/v1/whoami', { key })
  assert.equal(refused.status, 401)
  assert.equal(refused.body.error.code, 'invalid_api_key')
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  assert.ok(!ids(await list(browsers.member)).includes(id))
})

test('an owner revokes anybody’s key in the organization', async () => {
  const { id, key } = (await make(browsers.member, { name: 'x' })).body
  assert.equal((await send(app, 'DELETE', `/console/api_keys/${id}`, browsers.owner)).status, 200)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key })).status, 401)
})

test('404, the same for a foreign key, a colleague’s, a revoked one and one that never existed', async () => {
  const gone = (await make(browsers.member, { name: 'x' })).body.id
  await send(app, 'DELETE', `/console/api_keys/${gone}`, browsers.member)
  const bodies = new Set<string>()
  for (const id of [
    outsider.key_id,
    owner.key_id,
    gone,
    'key_00000000000000000000000000',
    'nonsense',
    "x' or 1=1 --",
  ]) {
    const answer = await send(app, 'DELETE', `/console/api_keys/${encodeURIComponent(id)}`, browsers.member)
    assert.equal(answer.status, 404)
    bodies.add(JSON.stringify(answer.body))
  }
  assert.equal(bodies.size, 1)
  assert.equal((await send(app, 'DELETE', `/console/api_keys/${member.key_id}`, browsers.outsider)).status, 404)
  for (const { key } of [outsider, owner, member])
    assert.equal((await send(app, 'GET', '/v1/whoami', { key })).status, 200)
})

test('404, not 500, for an id that no database could hold', async () => {
  for (const path of ['/console/api_keys/%00', '/console/members/a%00b', '/console/invitations/%00']) {
    assert.equal((await send(app, 'DELETE', path, browsers.owner)).status, 404, path)
  }
  assert.equal((await send(app, 'DELETE', '/console/api_keys/%00')).status, 401)
})

test('409 beyond 50 keys of one person in an organization, also when many are made at once', async () => {
  const person = await newPerson(app, outsider.org_id)
  const browser = await browserOf(app, person)
  const answers = await Promise.all(Array.from({ length: 60 }, () => make(browser, { name: 'x' })))
  const refused = answers.filter(({ status }) => status !== 200)
  assert.equal(refused.length, 11)
  for (const { status, body } of refused) {
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
    assert.match(body.error.message, /^A person can have 50 API keys .+ Revoke one first\.$/)
  }
  assert.equal((await make(browsers.outsider, { name: 'another person' })).status, 200)
  await send(app, 'DELETE', `/console/api_keys/${person.key_id}`, browser)
  assert.equal((await make(browser, { name: 'in its place' })).status, 200)
})

test('last_used_at is the time of the last call of a key, to the minute', async () => {
  const { id, key } = (await make(browsers.member, { name: 'x' })).body
  const seen = async () => {
    await app.app.identity.callers.noteUse()
    return (await list(browsers.member)).body.data.find((each: { id: string }) => each.id === id).last_used_at
  }
  assert.equal(await seen(), null)
  await send(app, 'GET', '/v1/whoami', { key })
  const first = Math.floor(app.clock.now().getTime() / 1000)
  assert.equal(await seen(), first)
  app.clock.advance(59)
  await send(app, 'GET', '/v1/whoami', { key })
  assert.equal(await seen(), first)
  app.clock.advance(1)
  await send(app, 'GET', '/v1/whoami', { key })
  assert.equal(await seen(), first + 60)
})

test('401 for anything but a bearer key: other schemes, keys in the URL, two keys, none', async () => {
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${member.key}`,
    member.key,
    `Bearer ${member.key} ${owner.key}`,
    `Bearer ${member.key}x`,
  ]) {
    assert.equal((await send(app, 'GET', '/v1/whoami', { headers: { authorization } })).status, 401, authorization)
  }
  assert.equal((await send(app, 'GET', `/v1/whoami?api_key=${member.key}`)).status, 401)
  assert.equal(
    (await send(app, 'GET', '/v1/whoami', { headers: { authorization: `bearer  ${member.key}` } })).status,
    200,
  )
})
