import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { updateRole } from '../../../server/identity/members/store.ts'
import { lockOrganization } from '../../../server/identity/people/store.ts'
import type { Tx } from '../../../server/platform/db/db.ts'
import { meanwhile } from '../../support/data/meanwhile.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, type Person, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

type Browser = { cookie: string }

let app: TestApp
let org: string
let owner: Person & Browser
let admin: Person & Browser
let member: Person & Browser
let outsider: Person & Browser

before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
  org = await newOrganization(app)
  owner = await signedIn(org, 'owner')
  admin = await signedIn(org, 'admin')
  member = await signedIn(org, 'member')
  outsider = await signedIn(await newOrganization(app, 'Rival'), 'owner')
})
after(() => app.close())

async function signedIn(org_id: string, role: 'owner' | 'admin' | 'member'): Promise<Person & Browser> {
  const person = await newPerson(app, org_id, role)
  return { ...person, ...(await browserOf(app, person)) }
}

const remove = ({ cookie }: Browser, user_id: string) => send(app, 'DELETE', `/console/members/${user_id}`, { cookie })
const setRole = ({ cookie }: Browser, user_id: string, role: string) =>
  send(app, 'PATCH', `/console/members/${user_id}`, { cookie }, { role })

test('200: owners and admins see the people of their organization and no others', async () => {
  for (const { cookie } of [owner, admin]) {
    const { status, body } = await send(app, 'GET', '/console/members', { cookie })
    assert.equal(status, 200)
    const expected = [owner, admin, member].map(({ user_id }) => user_id).sort()
    assert.deepEqual(body.data.map(({ id }: { id: string }) => id).sort(), expected)
    const { created_at, ...found } = body.data.find(({ id }: { id: string }) => id === member.user_id)
    assert.equal(typeof created_at, 'number')
    const { user_id, email } = member
    assert.deepEqual(found, { id: user_id, object: 'member', user_id, email, name: 'member', role: 'member' })
  }
})

test('403 for members who look, invite, promote or remove', async () => {
  const { cookie } = member
  const answers = [
    await send(app, 'GET', '/console/members', { cookie }),
    await send(app, 'GET', '/console/invitations', { cookie }),
    await send(app, 'POST', '/console/invitations', { cookie }, { email: 'x@example.com', role: 'member' }),
    await send(app, 'DELETE', '/console/invitations/inv_1', { cookie }),
    await setRole(member, member.user_id, 'owner'),
    await remove(member, admin.user_id),
  ]
  for (const { status, body } of answers) {
    assert.equal(status, 403)
    assert.equal(body.error.code, 'permission_denied')
  }
})

test('403 for an admin who makes, unmakes or removes an owner, themselves included', async () => {
  const { cookie } = admin
  const answers = [
    await setRole(admin, admin.user_id, 'owner'),
    await setRole(admin, owner.user_id, 'member'),
    await remove(admin, owner.user_id),
    await send(app, 'POST', '/console/invitations', { cookie }, { email: 'x@example.com', role: 'owner' }),
  ]
  for (const { status } of answers) assert.equal(status, 403)
})

test('the same 404 for a person of another organization and for an unknown id, and the person is unchanged', async () => {
  const bodies = new Set<string>()
  for (const id of [outsider.user_id, 'user_00000000000000000000000000', 'nonsense']) {
    for (const answer of [await remove(owner, id), await setRole(owner, id, 'member')]) {
      assert.equal(answer.status, 404)
      bodies.add(JSON.stringify(answer.body))
    }
  }
  assert.equal(bodies.size, 1)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: outsider.key })).body.role, 'owner')
})

test('a new role reaches the person’s keys and sessions', async () => {
  const person = await signedIn(org, 'member')
  const { status, body } = await setRole(owner, person.user_id, 'admin')
  assert.equal(status, 200)
  assert.equal(body.role, 'admin')
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: person.key })).body.role, 'admin')
  assert.equal((await send(app, 'GET', '/v1/whoami', { cookie: person.cookie })).body.role, 'admin')
  assert.equal((await setRole(owner, person.user_id, 'god')).status, 400)
})

test('a removed person’s keys and sessions in this organization end, those in another go on', async () => {
  const person = await signedIn(org, 'member')
  const elsewhere = await newOrganization(app, 'Elsewhere')
  const host = await signedIn(elsewhere, 'owner')
  const invited = await send(
    app,
    'POST',
    '/console/invitations',
    { cookie: host.cookie },
    { email: person.email, role: 'member' },
  )
  const there = await send(
    app,
    'POST',
    '/console/invitations/accept',
    { cookie: person.cookie },
    { token: invited.body.token },
  )
  assert.equal(there.body.organization.id, elsewhere)
  const otherKey = (await send(app, 'POST', '/console/api_keys', { cookie: person.cookie }, { name: 'x' })).body.key

  assert.deepEqual((await remove(owner, person.user_id)).body, { id: person.user_id, object: 'member', deleted: true })
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: person.key })).status, 401)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: otherKey })).body.org_id, elsewhere)
  const { body } = await send(app, 'GET', '/console/session', { cookie: person.cookie })
  assert.deepEqual(body.organizations, [{ id: elsewhere, name: 'Elsewhere', role: 'member' }])
})

test('401 for the session of somebody who was removed from the organization it is in', async () => {
  const person = await signedIn(org, 'member')
  await remove(admin, person.user_id)
  assert.equal((await send(app, 'GET', '/console/session', { cookie: person.cookie })).status, 401)
  await assert.rejects(browserOf(app, person), /You belong to no organization/)
})

test('409: the last owner can neither leave, nor step down, nor be removed', async () => {
  for (const answer of [await remove(owner, owner.user_id), await setRole(owner, owner.user_id, 'member')]) {
    assert.equal(answer.status, 409)
    assert.equal(answer.body.error.code, 'conflict')
  }
})

test('of two owners who remove each other at the same time one remains', async () => {
  for (let round = 0; round < 10; round++) {
    const place = await newOrganization(app, `Round ${round}`)
    const [one, two] = [await signedIn(place, 'owner'), await signedIn(place, 'owner')]
    const answers = await Promise.all([remove(one, two.user_id), remove(two, one.user_id)])
    const left = await app.database.db.selectFrom('members').select('role').where('org_id', '=', place).execute()
    assert.deepEqual(left, [{ role: 'owner' }], JSON.stringify(answers.map(({ status }) => status)))
  }
})

test('403 for an owner who is demoted while they make another an owner, or remove somebody', async () => {
  const org_id = await newOrganization(app)
  await newPerson(app, org_id, 'owner')
  const friend = await newPerson(app, org_id, 'member')
  for (const act of [
    (by: Browser) => setRole(by, friend.user_id, 'owner'),
    (by: Browser) => remove(by, friend.user_id),
  ]) {
    const demoted = await signedIn(org_id, 'owner')
    const demote = async (tx: Tx) => {
      await lockOrganization(tx, org_id)
      await updateRole(tx, { org_id, user_id: demoted.user_id, role: 'member' })
    }
    const answer = await meanwhile(app, demote, () => act(demoted))
    assert.deepEqual([answer.status, answer.body.error?.code], [403, 'permission_denied'])
  }
})

test('an admin who is made a member at that moment withdraws no invitation and revokes nobody else’s key', async () => {
  const org_id = await newOrganization(app)
  const host = await signedIn(org_id, 'owner')
  const friend = await newPerson(app, org_id, 'member')
  const invitation = { email: 'open@example.com', role: 'member' }
  const { id } = (await send(app, 'POST', '/console/invitations', { cookie: host.cookie }, invitation)).body
  for (const [path, status] of [
    [`/console/invitations/${id}`, 403],
    [`/console/api_keys/${friend.key_id}`, 404],
  ] as const) {
    const demoted = await signedIn(org_id, 'admin')
    const demote = async (tx: Tx) => {
      await lockOrganization(tx, org_id)
      await updateRole(tx, { org_id, user_id: demoted.user_id, role: 'member' })
    }
    const answer = await meanwhile(app, demote, () => send(app, 'DELETE', path, { cookie: demoted.cookie }))
    assert.equal(answer.status, status, path)
  }
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: friend.key })).status, 200)
  const open = await send(app, 'GET', '/console/invitations', { cookie: host.cookie })
  assert.deepEqual(
    open.body.data.map((each: { id: string }) => each.id),
    [id],
  )
})
