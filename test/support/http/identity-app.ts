import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { grantCredits, openAccount } from '../../../server/billing/ledger.ts'
import type { OidcConfig } from '../../../server/config/config.ts'
import type { Context } from '../../../server/context.ts'
import { endpoint, registerEndpoints } from '../../../server/identity/caller/endpoint.ts'
import type { Role } from '../../../server/identity/caller/principal.ts'
import { createKey } from '../../../server/identity/keys/api-keys.ts'
import { IDENTITY_TOPIC, openIdentity } from '../../../server/identity/open.ts'
import { createMember, createOrganization, newPassword } from '../../../server/identity/people/provision.ts'
import { isOrganizationNameTaken } from '../../../server/identity/people/store.ts'
import { identityEndpoints } from '../../../server/identity/routes.ts'
import { handMovedClock } from '../../../server/platform/clock.ts'
import { openChanges } from '../../../server/platform/db/changes.ts'
import { openHttp } from '../../../server/platform/http/server.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { type TestDatabase, testDatabase } from '../data/postgres.ts'
import { liveContext } from './live-context.ts'

export const PASSWORD = 'correct horse battery'

export type IdentityApp = Awaited<ReturnType<typeof startIdentity>>
export type Person = { email: string; user_id: string; org_id: string; key: string; key_id: string }

/** Returns who calls: behind it are API keys and sessions as any endpoint sees them. */
const whoAmI = endpoint({
  method: 'GET',
  path: '/v1/whoami',
  auth: 'api_key_or_session',
  summary: 'Returns who calls',
  handle: async (_ctx, { principal }) => principal,
})

/**
 * The console's identity routes on a real socket and database. Give `database` for a second process on the same one;
 * `notices: false` leaves its LISTEN connection out; `elapsed` is its monotonic clock in milliseconds.
 */
export async function startIdentity(
  options: {
    database?: TestDatabase
    notices?: boolean
    public_url?: string
    elapsed?: { ms: number }
    oidc?: OidcConfig
    trusted_proxies?: string[]
  } = {},
) {
  const database = options.database ?? (await testDatabase())
  const { db } = database
  const clock = handMovedClock()
  const site = { public_url: options.public_url ?? '', engine_url: '' }
  const login = { oidc: options.oidc ?? null }
  const config = { api_key_prefix: 'kin', default_plan: 'free', plans: new Map(), first_run: FIRST_RUN, login }
  const secrets = [SECRET] as const
  const ctx = liveContext({ db, clock, log: silentLog, config, secret: SECRET, secrets, site } as unknown as Context)
  const { elapsed } = options
  const changes =
    options.notices === false ? null : await openChanges({ db, url: database.url, trigger_topics: [IDENTITY_TOPIC] })
  const identity = await openIdentity({
    ...{ db, clock, log: silentLog, live: ctx },
    ...(changes && { changes }),
    ...(elapsed && { monotonic: () => elapsed.ms }),
  })
  const http = openHttp({ log: silentLog, trusted_proxies: options.trusted_proxies ?? [] })
  http.decorate('publicOrigin', () => new URL(site.public_url).origin)
  http.register(async (server) =>
    registerEndpoints(server, ctx, [...identityEndpoints(identity), whoAmI], identity.authenticator),
  )
  await http.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`
  site.public_url ||= url
  return {
    ...{ url, ctx, clock, identity, database, config },
    async close() {
      http.server.closeAllConnections()
      await http.close()
      await identity.close()
      await changes?.close()
      if (!options.database) await database.close()
    },
  }
}

const FIRST_RUN = { organization: 'Default', email: 'owner@kinora.local', balance: 10_000_000_000n }
const SECRET = randomBytes(32).toString('hex')

/** An organization with nothing in it. A name that another has gets something behind it. */
export async function newOrganization(app: Pick<IdentityApp, 'database' | 'clock'>, name = 'Acme'): Promise<string> {
  try {
    return await openOrganization(app, name)
  } catch (error) {
    if (!isOrganizationNameTaken(error)) throw error
    return openOrganization(app, `${name} ${randomBytes(4).toString('hex')}`)
  }
}

function openOrganization(app: Pick<IdentityApp, 'database' | 'clock'>, name: string): Promise<string> {
  const now = app.clock.now()
  return app.database.db.transaction().execute(async (tx) => {
    const org_id = await createOrganization(tx, { name, plan: 'free', now })
    await openAccount(tx, { org_id })
    return org_id
  })
}

/** A person with PASSWORD and an API key, member of `org_id`. */
export async function newPerson(
  app: Pick<IdentityApp, 'database' | 'clock'>,
  org_id: string,
  role: Role = 'member',
): Promise<Person> {
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

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
export type Answer = { status: number; headers: Headers; body: any }
export type Caller = { key?: string; cookie?: string; headers?: Record<string, string> }

/** Calls the service with a JSON body, as an API key or a browser, and reads the JSON answer. */
export async function send(
  app: { url: string },
  method: string,
  path: string,
  caller: Caller = {},
  body?: unknown,
): Promise<Answer> {
  const headers: Record<string, string> = { ...caller.headers }
  if (caller.key) headers.authorization = `Bearer ${caller.key}`
  if (caller.cookie) headers.cookie = caller.cookie
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(app.url + path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export function signInAs(
  app: { url: string },
  email: string,
  password = PASSWORD,
  caller: Caller = {},
): Promise<Answer> {
  return send(app, 'POST', '/console/auth/sign-in/email', caller, { email, password })
}

/** The cookie a browser would send after this answer. */
export function cookieOf(answer: Answer): string {
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

/** How money begins, as the service passes it to the first run. */
export const OPEN_MONEY = { openAccount, grantCredits }
