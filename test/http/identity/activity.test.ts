import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'

let app: TestApp
let owner: TestPerson
let member: TestPerson
let outsider: TestPerson
before(async () => {
  app = await startApp()
  owner = await newCustomer(app)
  member = await newColleague(app, owner.org_id)
  outsider = await newCustomer(app)
})
after(() => app.close())

const activity = (person: TestPerson, query = '') =>
  send(app, 'GET', `/console/activity${query}`, { cookie: person.cookie })

test('200 with what people of the organization changed, newest first and without secrets, and nothing of another', async () => {
  const browser = { cookie: owner.cookie }
  const { key, id } = (await send(app, 'POST', '/console/api_keys', browser, { name: 'ci' })).body
  await send(app, 'DELETE', `/console/api_keys/${id}`, browser)
  await send(app, 'PATCH', `/console/members/${member.user_id}`, browser, { role: 'admin' })
  const invited = (
    await send(app, 'POST', '/console/invitations', browser, { email: 'noa@example.com', role: 'member' })
  ).body
  const joined = { token: invited.token, name: 'Noa', password: 'a long password' }
  assert.equal(
    (await send(app, 'POST', '/console/invitations/accept', { headers: { origin: app.url } }, joined)).status,
    200,
  )
  const second = (
    await send(app, 'POST', '/console/invitations', browser, { email: 'ren@example.com', role: 'member' })
  ).body
  await send(app, 'DELETE', `/console/invitations/${second.id}`, browser)
  const job = (await submit(app, { key: member.key })).body.id
  await send(app, 'POST', `/v1/videos/${job}/cancel`, { key: owner.key })
  await send(app, 'DELETE', `/console/members/${member.user_id}`, browser)

  const { status, body } = await activity(owner)
  assert.equal(status, 200)
  const entries = body.data.map((each: Record<string, unknown>) => [each.action, each.target])
  assert.deepEqual(entries, [
    ['member.remove', member.user_id],
    ['video.cancel', job],
    ['invitation.withdraw', second.id],
    ['invitation.create', second.id],
    ['invitation.accept', invited.id],
    ['invitation.create', invited.id],
    ['member.role', member.user_id],
    ['api_key.revoke', id],
    ['api_key.create', id],
  ])
  const [, canceled, , , , , role] = body.data
  assert.deepEqual(
    [role.actor.email, role.actor.key_hint, role.details],
    [owner.email, null, { from: 'member', to: 'admin' }],
  )
  assert.equal(typeof canceled.actor.key_hint, 'string')
  for (const secret of [key, invited.token, second.token]) assert.ok(!JSON.stringify(body).includes(secret))
  assert.deepEqual((await activity(outsider)).body.data, [])
})

test('pages follow one another, also from the id of another organization’s entry', async () => {
  const first = (await activity(owner, '?limit=1')).body
  assert.equal(first.has_more, true)
  const rest = (await activity(owner, `?after=${first.last_id}`)).body
  assert.equal(rest.data.length, 8)
  assert.deepEqual((await activity(outsider, `?order=asc&after=${first.last_id}`)).body.data, [])
  assert.equal((await activity(owner, '?after=nonsense')).body.error.param, 'after')
})

test('a job that its own submitter cancels leaves no entry', async () => {
  const before = (await activity(owner)).body.data.length
  const job = (await submit(app, { key: owner.key })).body.id
  await send(app, 'POST', `/v1/videos/${job}/cancel`, { key: owner.key })
  assert.equal((await activity(owner)).body.data.length, before)
})

test('403 for a member', async () => {
  const plain = await newColleague(app, owner.org_id)
  assert.equal((await activity(plain)).body.error.code, 'permission_denied')
})

test('changes of webhook endpoints are recorded with name and host, without the rest of the URL or the secret', async () => {
  const person = await newCustomer(app)
  const credentials = { key: person.key }
  const body = { name: 'Production', url: 'https://hooks.example.com/token?x=1', event_types: ['video.completed'] }
  const made = (await send(app, 'POST', '/v1/webhook_endpoints', credentials, body)).body
  const path = `/v1/webhook_endpoints/${made.id}`
  await send(app, 'POST', path, credentials, { name: 'Second', url: 'https://second.example.com/' })
  await send(app, 'POST', `${path}/rotate_secret`, credentials, {})
  await send(app, 'DELETE', path, credentials)
  const entries = (await activity(person)).body
  const second = { name: 'Second', host: 'second.example.com' }
  assert.deepEqual(
    entries.data.map(({ action, target, details }: Record<string, unknown>) => [action, target, details]),
    [
      ['webhook_endpoint.delete', made.id, second],
      ['webhook_endpoint.rotate_secret', made.id, second],
      ['webhook_endpoint.change', made.id, second],
      ['webhook_endpoint.create', made.id, { name: 'Production', host: 'hooks.example.com' }],
    ],
  )
  for (const secret of [made.signing_secret, 'token']) assert.ok(!JSON.stringify(entries).includes(secret))
})

test('429 for the 1001st change in 24 hours of keys, invitations, roles or endpoints; what ends one is never refused', async () => {
  const [person, hooks] = [await newCustomer(app), '/v1/webhook_endpoints']
  const colleague = await newColleague(app, person.org_id)
  const [browser, caller] = [{ cookie: person.cookie }, { key: person.key }]
  const makeKey = () => send(app, 'POST', '/console/api_keys', browser, { name: 'x' })
  const key = (await makeKey()).body.id
  const endpoint = { name: 'x', url: 'https://hooks.example.com/', event_types: ['video.failed'] }
  const hook = `${hooks}/${(await send(app, 'POST', hooks, caller, endpoint)).body.id}`
  const invitation = { email: 'mio@example.com', role: 'member' }
  const { id } = (await send(app, 'POST', '/console/invitations', browser, invitation)).body
  const rotate = () => send(app, 'POST', `${hook}/rotate_secret`, caller, {})
  await app.database.pool.query(
    `insert into activity_entries select id || n, created_at, org_id, actor, action, target, details
     from activity_entries, generate_series(1, 996) n where org_id = $1 and action = 'api_key.create'`,
    [person.org_id],
  )
  assert.equal((await rotate()).status, 200)
  for (const { status, body } of [
    await rotate(),
    await makeKey(),
    await send(app, 'POST', hook, caller, { name: 'y' }),
    await send(app, 'POST', hooks, caller, endpoint),
    await send(app, 'POST', '/console/invitations', browser, { ...invitation, email: 'sora@example.com' }),
    await send(app, 'PATCH', `/console/members/${colleague.user_id}`, browser, { role: 'admin' }),
  ])
    assert.deepEqual([status, body.error.code], [429, 'too_many_requests'])
  assert.equal((await send(app, 'POST', '/console/api_keys', { cookie: outsider.cookie }, { name: 'x' })).status, 200)
  for (const answer of [
    await send(app, 'DELETE', `/console/api_keys/${key}`, browser),
    await send(app, 'DELETE', hook, caller),
    await send(app, 'DELETE', `/console/invitations/${id}`, browser),
    await send(app, 'DELETE', `/console/members/${colleague.user_id}`, browser),
  ])
    assert.equal(answer.status, 200)
  app.clock.advance(86_401)
  assert.equal((await send(app, 'POST', hooks, caller, endpoint)).status, 200)
})
