import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { createMember } from '../../../server/identity/people/provision.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, PASSWORD, type Person, signInAs } from '../../support/http/people.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { trials } from '../../tiers.ts'

let app: TestApp
let org: string
let owner: Person
let browser: { cookie: string }
before(async () => {
  app = await startApp()
  org = await newOrganization(app)
  owner = await newPerson(app, org, 'owner')
  browser = await browserOf(app, owner)
})
after(() => app.close())
afterEach(() => sql`truncate login_attempts`.execute(app.database.db))

const ROUNDS = trials(4, 'ROUNDS')
const AT_ONCE = 12

/** The same call from many at once. */
const together = <T>(call: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, (_, i) => call(i)))

function statusesOf(answers: HttpResponse[]): number[] {
  for (const { status, body } of answers) {
    if (status >= 400) assert.ok(body.error.message.length > 10, JSON.stringify(body))
  }
  return [...new Set(answers.map(({ status }) => status))].sort()
}

test('many concurrent invitations of one address: each gets a proper answer, and one is open', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const email = `racer-${round}@example.com`
    const answers = await together(() => send(app, 'POST', '/console/invitations', browser, { email, role: 'member' }))
    assert.deepEqual(statusesOf(answers), [200])
    const { rows } = await sql`select id from invitations where email = ${email} and status = 'pending'`.execute(
      app.database.db,
    )
    assert.equal(rows.length, 1)
  }
})

test('one invitation accepted by many at once: one joins, the others get a proper error', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const email = `joiner-${round}@example.com`
    const { body } = await send(app, 'POST', '/console/invitations', browser, { email, role: 'member' })
    const answers = await together((i) =>
      send(app, 'POST', '/console/invitations/accept', {}, { token: body.token, name: `J${i}`, password: PASSWORD }),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.ok(statusesOf(answers).every((status) => [200, 401, 404, 409, 429].includes(status)))
    await sql`truncate login_attempts`.execute(app.database.db)
  }
})

test('200 or 409 for somebody new who accepts invitations of two organizations at once', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const email = `twice-${round}@example.com`
    const other = await newOrganization(app)
    const there = await browserOf(app, await newPerson(app, other, 'owner'))
    const tokens = await Promise.all(
      [browser, there].map(
        async (by) => (await send(app, 'POST', '/console/invitations', by, { email, role: 'member' })).body.token,
      ),
    )
    const answers = await Promise.all(
      tokens.map((token) =>
        send(app, 'POST', '/console/invitations/accept', {}, { token, name: 'Two', password: PASSWORD }),
      ),
    )
    assert.ok(statusesOf(answers).every((status) => [200, 409].includes(status)))
  }
})

test('one person added by the operator many times at once: one account and one membership', async () => {
  const email = 'operator-race@example.com'
  const password_hash = 'x:y'
  const person = { org_id: org, email, name: 'O', role: 'member' as const, password_hash, now: app.clock.now() }
  const ended = await Promise.allSettled(
    Array.from({ length: AT_ONCE }, () => app.database.db.transaction().execute((tx) => createMember(tx, person))),
  )
  assert.equal(ended.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const each of ended) if (each.status === 'rejected') assert.equal(each.reason.name, 'ApiError', each.reason)
})

test('a second factor begun by many at once: at least one begins, the others get a proper error', async () => {
  const person = await browserOf(app, await newPerson(app, org))
  const answers = await together(() => send(app, 'POST', '/console/two_factor', person, { password: PASSWORD }))
  assert.ok(answers.some(({ status }) => status === 200))
  assert.ok(
    statusesOf(answers).every((status) => [200, 409, 429].includes(status)),
    JSON.stringify(statusesOf(answers)),
  )
})

test('of twenty wrong passwords at once exactly ten are tried, as of twenty in a row', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const person = await browserOf(app, await newPerson(app, org))
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        send(app, 'POST', '/console/two_factor', person, { password: 'not the password' }),
      ),
    )
    assert.deepEqual(
      Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, of]) => [status, of!.length]),
      [
        ['401', 10],
        ['429', 10],
      ],
    )
    await sql`truncate login_attempts`.execute(app.database.db)
  }
})

test('200 for keys made by many at once, and 200 or 404 for one key revoked by many', async () => {
  const made = await together(() => send(app, 'POST', '/console/api_keys', browser, { name: 'same' }))
  assert.deepEqual(statusesOf(made), [200])
  const { id } = made[0]!.body
  const revoked = await together(() => send(app, 'DELETE', `/console/api_keys/${id}`, browser))
  assert.deepEqual(statusesOf(revoked), [200, 404])
})

test('a demoted owner, and an admin made a member, leave no open invitation; nor does one who invites at that moment', async () => {
  for (const [from, to] of [
    ['owner', 'admin'],
    ['owner', 'member'],
    ['admin', 'member'],
  ] as const) {
    const person = await newPerson(app, org, from)
    const theirs = await browserOf(app, person)
    const role = from === 'owner' ? 'owner' : 'admin'
    const invite = (i: number) =>
      send(app, 'POST', '/console/invitations', theirs, {
        email: `by-${person.user_id}-${i}@example.com`.toLowerCase(),
        role,
      })
    const { body: before } = await invite(0)
    const [demoted, ...racing] = await Promise.all([
      send(app, 'PATCH', `/console/members/${person.user_id}`, browser, { role: to }),
      ...[1, 2, 3, 4].map(invite),
    ])
    assert.equal(demoted!.status, 200)
    assert.ok(statusesOf(racing).every((status) => [200, 403].includes(status)))
    const { rows } =
      await sql`select id from invitations where inviter_id = ${person.user_id} and status = 'pending'`.execute(
        app.database.db,
      )
    assert.deepEqual(rows, [], `${from} to ${to}`)
    const answer = await send(
      app,
      'POST',
      '/console/invitations/accept',
      {},
      { token: before.token, name: 'Eve', password: PASSWORD },
    )
    assert.equal(answer.status, 404)
  }
})

test('passwords are checked one at a time: each takes a core, and one of four threads that files need', async (t) => {
  const { scrypt } = crypto
  t.after(() => {
    crypto.scrypt = scrypt
    syncBuiltinESMExports()
  })
  let running = 0
  let most = 0
  crypto.scrypt = ((...args: Parameters<typeof scrypt>) => {
    const [password, salt, length, options, callback] = args
    most = Math.max(most, ++running)
    // Half as long as in operation: the harness makes it nothing.
    scrypt(password, salt, length, { ...options, N: 8192 }, () => {
      scrypt(password, salt, length, options, (error, key) => {
        running -= 1
        callback(error, key)
      })
    })
  }) as typeof scrypt
  syncBuiltinESMExports()
  const member = await newPerson(app, org, 'member')
  const session = await browserOf(app, member)
  const answers = await Promise.all([
    ...Array.from({ length: 4 }, () => signInAs(app, member.email)),
    ...Array.from({ length: 4 }, () =>
      send(app, 'POST', '/console/password', session, { current_password: 'not the password', new_password: PASSWORD }),
    ),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 401, 401, 401, 401],
  )
  assert.equal(most, 1)
})
