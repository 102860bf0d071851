import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  agree,
  INSTANT_CONFIG,
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
} from '../../support/http/app.ts'
import { browserOf } from '../../support/http/people.ts'
import { type Caller, send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, submit } from '../../support/http/videos-app.ts'

const PATH = '/v1/videos/acceptance'
const NEEDED = { status: 403, code: 'agreement_required', type: 'permission_error' }
const LOGIN = { status: 403, code: 'console_login_required', type: 'permission_error' }

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const read = (caller: Caller) => send(app, 'GET', PATH, caller)
const accept = (caller: Caller, body: unknown = { terms_version: '2026-11-01' }) =>
  send(app, 'POST', PATH, caller, body)
const browser = ({ cookie }: TestPerson) => ({ cookie })
const key = (person: TestPerson) => ({ key: person.key })
const seconds = () => Math.floor(app.clock.now().getTime() / 1000)

const record = (person: TestPerson, accepted_at: number | null) => ({
  object: 'video_terms_acceptance',
  terms_version: '2026-11-01',
  terms_url: `${app.url}/terms`,
  accepted: accepted_at !== null,
  accepted_version: accepted_at === null ? null : '2026-11-01',
  accepted_at,
  user_id: person.user_id,
  organization_id: person.org_id,
})

test('200 with the record before and after a person agrees, by key and by console login', async () => {
  const person = await newCustomer(app, { agreed: false })
  assert.deepEqual((await read(key(person))).body, record(person, null))
  assert.deepEqual((await read(browser(person))).body, record(person, null))
  assertRefused(await submit(app, key(person)), NEEDED)
  const answer = await accept(browser(person))
  assert.deepEqual([answer.status, answer.body], [200, record(person, seconds())])
  assert.deepEqual((await read(key(person))).body, answer.body)
  assert.equal((await submit(app, key(person))).status, 200)
})

test('repeating it is 200 and keeps the first time', async () => {
  const person = await newCustomer(app, { agreed: false })
  const first = await accept(browser(person))
  app.clock.advance(1000)
  const again = await accept(browser(person))
  assert.deepEqual([again.status, again.body], [200, first.body])
})

test('403 for an API key, also beside the cookie of a login, and nothing is recorded', async () => {
  const person = await newCustomer(app, { agreed: false })
  assertRefused(await accept(key(person)), LOGIN)
  assertRefused(await accept({ ...key(person), ...browser(person) }), LOGIN)
  assertRefused(await accept(key(person), { terms_version: 'x' }), LOGIN)
  const wrong = { status: 401, code: 'invalid_api_key', type: 'authentication_error' }
  assertRefused(await accept({ key: 'kin_wrong', ...browser(person) }), wrong)
  assert.deepEqual((await read(browser(person))).body, record(person, null))
  const { rowCount } = await app.database.pool.query('select from video_acceptances where user_id = $1', [
    person.user_id,
  ])
  assert.equal(rowCount, 0)
})

test('401 without a credential or with an invalid cookie', async () => {
  const missing = { status: 401, code: 'missing_api_key', type: 'authentication_error' }
  assertRefused(await accept({}), missing)
  assertRefused(await accept({ cookie: 'kinora_session=forged' }), missing)
})

test('403 csrf_failed for a request of another site, before the body is looked at', async () => {
  const person = await newCustomer(app, { agreed: false })
  const failed = { status: 403, code: 'csrf_failed', type: 'permission_error' }
  const foreign: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]
  for (const headers of foreign) {
    assertRefused(await accept({ ...browser(person), headers }, {}), failed)
  }
  assert.equal(
    (await accept({ ...browser(person), headers: { 'sec-fetch-site': 'same-origin', origin: app.url } })).status,
    200,
  )
})

test('409 for a version other than the current one, 400 for a body that names none', async () => {
  const person = await newCustomer(app, { agreed: false })
  for (const terms_version of ['2026-10-01', '2026-11-01 ', 'latest']) {
    const answer = await accept(browser(person), { terms_version })
    assertRefused(answer, { status: 409, code: 'terms_version_mismatch', param: 'terms_version' })
    assert.equal(answer.headers.get('x-should-retry'), 'false')
  }
  assertInvalid(await accept(browser(person), {}), 'terms_version', "Missing required parameter: 'terms_version'.")
  assertInvalid(await accept(browser(person), { terms_version: null }), 'terms_version')
  assertInvalid(await accept(browser(person), { terms_version: 20261101 }), 'terms_version')
  assertInvalid(await accept(browser(person), { terms_version: '' }), 'terms_version')
  assertInvalid(
    await accept(browser(person), { terms_version: '2026-11-01', accepted: true }),
    'accepted',
    "Unknown parameter: 'accepted'.",
  )
  assert.deepEqual((await read(browser(person))).body, record(person, null))
})

test('agreement is of one person: a teammate has not agreed, whatever key or role', async () => {
  const owner = await newCustomer(app)
  const teammate = await newColleague(app, owner.org_id, { role: 'admin', agreed: false })
  assertRefused(await submit(app, key(teammate)), NEEDED)
  assertRefused(await submit(app, browser(teammate)), NEEDED)
  assert.equal((await read(key(teammate))).body.accepted, false)
  assert.equal((await submit(app, key(owner))).status, 200)
})

test('agreement is in one organization: the same person in another has not agreed there', async () => {
  const here = await newCustomer(app)
  const there = await newCustomer(app)
  await app.database.pool.query("insert into members values ('mem_there', $1, $2, 'member', now())", [
    there.org_id,
    here.user_id,
  ])
  const switched = await browserOf(app, here)
  const move = await send(app, 'POST', '/console/session/organization', switched, { organization_id: there.org_id })
  assert.equal(move.status, 200, JSON.stringify(move.body))
  const cookie = move.headers.getSetCookie()[0]?.split(';', 1)[0] ?? switched.cookie
  const record = await read({ cookie })
  assert.deepEqual(
    [record.body.organization_id, record.body.user_id, record.body.accepted],
    [there.org_id, here.user_id, false],
  )
  assertRefused(await submit(app, { cookie }), NEEDED)
  assert.equal((await submit(app, key(here))).status, 200)
})

test('a new version asks everybody again, and remembers what they agreed to', async () => {
  const person = await newCustomer(app)
  const agreed_at = seconds()
  const terms = 'terms: { version: "2027-01-01", url: "https://kinora.example/2027" }'
  const { database, dir, secret } = app
  const later = await startApp({ config: `${INSTANT_CONFIG}\n${terms}`, beside: { database, dir, secret } })
  later.clock.set(new Date(app.clock.now().getTime() + 10_000))
  try {
    const seen = (await send(later, 'GET', PATH, key(person))).body
    assert.deepEqual([seen.terms_version, seen.terms_url], ['2027-01-01', 'https://kinora.example/2027'])
    assert.deepEqual([seen.accepted, seen.accepted_version, seen.accepted_at], [false, '2026-11-01', agreed_at])
    assertRefused(await submit(later, key(person)), NEEDED)
    assertRefused(await send(later, 'POST', PATH, browser(person), { terms_version: '2026-11-01' }), {
      status: 409,
      code: 'terms_version_mismatch',
      param: 'terms_version',
    })
    await agree(later, browser(person))
    assert.deepEqual((await send(later, 'GET', PATH, key(person))).body.accepted_version, '2027-01-01')
    assert.equal((await submit(later, key(person))).status, 200)
    const back = (await read(key(person))).body
    assert.deepEqual([back.accepted, back.accepted_version, back.accepted_at], [true, '2027-01-01', agreed_at + 10])
  } finally {
    await later.close()
  }
})

test('listing, reading, downloading and model listing need no agreement; submitting records none', async () => {
  const owner = await newCustomer(app)
  const teammate = await newColleague(app, owner.org_id, { agreed: false })
  const { id } = (await submit(app, key(owner))).body
  await app.tick()
  for (const path of ['', '/models', '/acceptance', `/${id}`]) {
    assert.equal((await send(app, 'GET', `/v1/videos${path}`, key(teammate))).status, 200, path)
  }
  const content = await fetch(`${app.url}/v1/videos/${id}/content`, {
    headers: { authorization: `Bearer ${teammate.key}` },
  })
  assert.equal(content.status, 200)
  await content.body?.cancel()
  assert.equal((await send(app, 'DELETE', `/v1/videos/${id}`, key(teammate))).status, 200)
  assertRefused(await submit(app, key(teammate), { terms_version: '2026-11-01' }), NEEDED)
  assert.equal((await read(key(teammate))).body.accepted, false)
  assert.deepEqual(await app.audit(), {})
})
