import { randomBytes } from 'node:crypto'
import { openAccount } from '../../../server/billing/ledger.ts'
import type { Role } from '../../../server/identity/caller/principal.ts'
import { route } from '../../../server/identity/caller/route.ts'
import { createKey } from '../../../server/identity/keys/api-keys.ts'
import { addMember } from '../../../server/identity/members/members.ts'
import { createMember, createOrganization, newPassword } from '../../../server/identity/people/provision.ts'
import { isOrganizationNameTaken } from '../../../server/identity/people/store.ts'
import type { Clock } from '../../../server/platform/clock.ts'
import type { TestDatabase } from '../data/postgres.ts'
import { type Caller, type HttpResponse, send } from './send.ts'

export const PASSWORD = 'correct horse battery'

export type Person = { email: string; user_id: string; org_id: string; key: string; key_id: string }

/** Where people are added: the database of a service, and its time. */
type Site = { database: Pick<TestDatabase, 'db'>; clock: Pick<Clock, 'now'> }

/** Returns who calls: API keys and sessions as any route sees them. For `startApp`. */
export const whoAmI = route({
  method: 'GET',
  path: '/v1/whoami',
  auth: 'api_key_or_session',
  summary: 'Returns who calls',
  handle: async (_ctx, { principal }) => principal,
})

/** An organization with nothing in it. A name that another has gets something behind it. */
export async function newOrganization(app: Site, name = 'Acme'): Promise<string> {
  try {
    return await openOrganization(app, name)
  } catch (error) {
    if (!isOrganizationNameTaken(error)) throw error
    return openOrganization(app, `${name} ${randomBytes(4).toString('hex')}`)
  }
}

function openOrganization(app: Site, name: string): Promise<string> {
  const now = app.clock.now()
  return app.database.db.transaction().execute(async (tx) => {
    const org_id = await createOrganization(tx, { name, plan: 'free', now })
    await openAccount(tx, { org_id })
    return org_id
  })
}

/** A person with PASSWORD and an API key, member of `org_id`. */
export async function newPerson(app: Site, org_id: string, role: Role = 'member'): Promise<Person> {
  const { db } = app.database
  const now = app.clock.now()
  const email = `${role}-${randomBytes(4).toString('hex')}@example.com`
  hashed ??= newPassword(PASSWORD)
  const { password_hash } = await hashed
  return db.transaction().execute(async (tx) => {
    const { user_id } = await createMember(tx, { org_id, email, name: role, role, password_hash, now })
    const { id, key } = await createKey(tx, { org_id, user_id, name: 'test', prefix: 'kin', now })
    return { email, user_id, org_id, key, key_id: id }
  })
}

let hashed: ReturnType<typeof newPassword> | undefined

/** The same person as a member of another organization too, with a key of that one. */
export async function sameInAnother(app: Site, { email, user_id }: Pick<Person, 'email' | 'user_id'>): Promise<Person> {
  const org_id = await newOrganization(app)
  const now = app.clock.now()
  return app.database.db.transaction().execute(async (tx) => {
    await addMember(tx, { org_id, user_id, role: 'member', now })
    const { id, key } = await createKey(tx, { org_id, user_id, name: 'test', prefix: 'kin', now })
    return { email, user_id, org_id, key, key_id: id }
  })
}

export function signInAs(
  app: { url: string },
  email: string,
  password = PASSWORD,
  caller: Caller = {},
): Promise<HttpResponse> {
  return send(app, 'POST', '/console/auth/sign-in/email', caller, { email, password })
}

/** The cookie a browser would send after this answer. */
export function cookieOf(answer: HttpResponse): string {
  return answer.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
}

/** Signs in and gives the cookie to call with. */
export async function browserOf(app: { url: string }, person: { email: string }): Promise<{ cookie: string }> {
  const answer = await signInAs(app, person.email)
  if (answer.status !== 200) throw new Error(`sign-in refused: ${JSON.stringify(answer.body)}`)
  return { cookie: cookieOf(answer) }
}

/** The same signed cookie with another signature. Its first character is changed: the last one may hold bits that do not count. */
export function forged(cookie: string): string {
  const [name, value] = cookie.split('=') as [string, string]
  const [token, signature] = decodeURIComponent(value).split('.') as [string, string]
  return `${name}=${encodeURIComponent(`${token}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`)}`
}
