import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { Principal } from '../../../server/identity/caller/principal.ts'
import { mintKey } from '../../../server/identity/keys/format.ts'
import { IDENTITY_TOPIC, type Identity, openIdentity } from '../../../server/identity/open.ts'
import { updatePlan } from '../../../server/identity/people/store.ts'
import { systemClock } from '../../../server/platform/clock.ts'
import { openDb } from '../../../server/platform/db/db.ts'
import { ApiError } from '../../../server/platform/errors.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, type Person, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { law } from '../../support/law.ts'

/** Two processes on one database, and what a third one knows that gets no notices and has a hand-moved clock. */
let here: TestApp
let there: TestApp
let unnotified: Identity
const elapsed = { ms: 0 }
let org: string
let owner: Person

before(async () => {
  here = await startApp({ endpoints: [whoAmI] })
  there = await startApp({ beside: here, endpoints: [whoAmI] })
  const { db, clock, log } = here.ctx
  unnotified = await openIdentity({ db, clock, log, live: here.ctx, monotonic: () => elapsed.ms })
  org = await newOrganization(here)
  owner = await newPerson(here, org, 'owner')
})
after(async () => {
  await unnotified.close()
  await there.close()
  await here.close()
})

type Caller = { key: string } | { cookie: string }
const statusAt = async (app: TestApp, caller: Caller) => (await send(app, 'GET', '/v1/whoami', caller)).status

/** Who calls, for the process without notices. Null where it would answer 401. */
async function unnotifiedOf(caller: Caller): Promise<Principal | null> {
  const { api_key, session } = unnotified.authenticator
  if ('cookie' in caller) return session(caller)
  return api_key(`Bearer ${caller.key}`).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  })
}

/** Runs `change` and resolves when both processes have been notified of it: notices arrive in the order of their commits. */
async function afterNotice(change: () => Promise<unknown>): Promise<void> {
  await change()
  const mark = `key:${randomUUID()}`
  const marked = [here, there].map(({ app: { identity } }) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = identity.callers.onForget((notice) => notice === mark && resolve())
    return promise.finally(stop)
  })
  await sql`select pg_notify(${IDENTITY_TOPIC}, ${mark})`.execute(here.database.db)
  await Promise.all(marked)
}

/** What ends a caller, over HTTP to one process. */
const ENDINGS: Record<string, () => Promise<{ caller: Caller; end: () => Promise<unknown> }>> = {
  'a revoked key': async () => {
    const { key, key_id } = await newPerson(here, org)
    const browser = await browserOf(here, owner)
    return { caller: { key }, end: () => send(here, 'DELETE', `/console/api_keys/${key_id}`, browser) }
  },
  'the key of a removed member': async () => {
    const { key, user_id } = await newPerson(here, org)
    const browser = await browserOf(here, owner)
    return { caller: { key }, end: () => send(here, 'DELETE', `/console/members/${user_id}`, browser) }
  },
  'the session of a removed member': async () => {
    const person = await newPerson(here, org)
    const browser = await browserOf(here, owner)
    const caller = await browserOf(here, person)
    return { caller, end: () => send(here, 'DELETE', `/console/members/${person.user_id}`, browser) }
  },
  'a session that was signed out': async () => {
    const caller = await browserOf(here, await newPerson(here, org))
    return { caller, end: () => send(here, 'POST', '/console/auth/sign-out', caller) }
  },
}

for (const [title, prepare] of Object.entries(ENDINGS)) {
  test(`401 in every process: ${title}, as soon as it is notified`, async () => {
    const { caller, end } = await prepare()
    for (const app of [here, there]) assert.equal(await statusAt(app, caller), 200)
    await afterNotice(end)
    for (const app of [here, there]) assert.equal(await statusAt(app, caller), 401)
  })

  test(`401 after five seconds in a process that gets no notices: ${title}`, async () => {
    const { caller, end } = await prepare()
    assert.ok(await unnotifiedOf(caller))
    await end()
    elapsed.ms += 4999
    assert.ok(await unnotifiedOf(caller), 'this process got the notice: the test proves nothing')
    elapsed.ms += 1
    assert.equal(await unnotifiedOf(caller), null)
  })
}

test('a new plan and a new role reach every process by notice, and one without notices within five seconds', async () => {
  const place = await newOrganization(here, 'Plans')
  const person = await newPerson(here, place, 'member')
  const boss = await browserOf(here, await newPerson(here, place, 'owner'))
  const seen = async (app: TestApp | null) => {
    const { key } = person
    const { plan, role } = app ? (await send(app, 'GET', '/v1/whoami', { key })).body : await unnotifiedOf({ key })
    return { plan, role }
  }
  for (const app of [here, there, null]) assert.deepEqual(await seen(app), { plan: 'free', role: 'member' })
  await afterNotice(() => updatePlan(here.database.db, { org_id: place, plan: 'pro' }))
  const role = { role: 'admin' }
  await afterNotice(() => send(here, 'PATCH', `/console/members/${person.user_id}`, boss, role))
  for (const app of [here, there]) assert.deepEqual(await seen(app), { plan: 'pro', role: 'admin' })
  assert.deepEqual(await seen(null), { plan: 'free', role: 'member' })
  elapsed.ms += 5000
  assert.deepEqual(await seen(null), { plan: 'pro', role: 'admin' })
})

test('law: of two hundred calls that race a revocation, none that begins after its answer succeeds', async () => {
  const { key, key_id } = await newPerson(here, org)
  const browser = await browserOf(here, owner)
  const racing = Array.from({ length: 200 }, () => statusAt(here, { key }))
  await send(here, 'DELETE', `/console/api_keys/${key_id}`, browser)
  const later = await Promise.all(Array.from({ length: 20 }, () => statusAt(here, { key })))
  for (const status of await Promise.all(racing)) assert.ok(status === 200 || status === 401)
  assert.deepEqual(new Set(later), new Set([401]))
})

law('malformed keys and cookies without our signature are refused without a query', async (seed) => {
  const nowhere = openDb('postgres://nobody@127.0.0.1:1/none')
  const identity = await openIdentity({
    db: nowhere.db,
    clock: systemClock,
    log: silentLog,
    live: {
      config: { login: { oidc: null } },
      secrets: ['x'.repeat(32)] as const,
      site: { public_url: 'http://127.0.0.1' },
    },
  })
  const { api_key, session } = identity.authenticator
  const outcome = (authorization: string) => api_key(authorization).catch((error: unknown) => error)
  const asksTheDatabase = (error: unknown) => !(error instanceof ApiError)
  assert.ok(asksTheDatabase(await outcome(`Bearer ${mintKey('kin')}`)), 'a key in good form should have been looked up')

  const anything = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.stringMatching(/^kin_[0-9A-Za-z]{36}$/))
  await fc.assert(
    fc.asyncProperty(anything, async (text) => {
      const error = await outcome(`Bearer ${text}`)
      assert.ok(error instanceof ApiError && error.code === 'invalid_api_key', text)
      assert.equal(await session({ cookie: `kinora.session_token=${text}` }), null)
    }),
    { seed, numRuns: 3000 },
  )
  await identity.close()
  await nowhere.close()
})
