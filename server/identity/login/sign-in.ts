import type { Kysely } from 'kysely'
import type { Secrets } from '../../context.ts'
import type { Clock } from '../../platform/clock.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Database } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { hashToken, SESSION_IDLE_SECONDS, type SessionCookie, writeSessionToken } from '../caller/cookie.ts'
import { findUser, lockPassword, replacePassword } from '../people/store.ts'
import { countAttempt } from './attempts.ts'
import type { LoginLibrary } from './library.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { deleteEndedSessions, deleteSession } from './store.ts'

/** A new console login: the row's token hash names it, `set_cookie` gives it to the browser. */
export type SignedIn = { user_id: string; token_hash: string; set_cookie: string }

/** The password was right; `challenge` is the `Set-Cookie` with which the browser comes back for the second factor. */
export type SecondFactorDue = { challenge: string }

export type LoginContext = {
  db: Kysely<Database>
  clock: Clock
  /** Derived from the service's: for cookies, second factors and the hashes of failed attempts. */
  secrets: Secrets
  cookie: () => SessionCookie
  library: () => Promise<LoginLibrary>
}

/** Where a request of a browser comes from. */
export type Caller = { address: string; user_agent: string }

/**
 * Checks email and password and begins a session with a token never used before, or asks for the second factor.
 * Throws ApiError `invalid_api_key` with one text for an unknown email and a wrong password, `rate_limit_exceeded` after ten failures.
 */
export async function signIn(
  login: LoginContext,
  attempt: Caller & { email: string; password: string },
): Promise<SignedIn | SecondFactorDue> {
  const { db, clock, secrets } = login
  const { email, address } = attempt
  const counted = await countAttempt(db, { email, address, secrets, now: clock.now() })
  const user = await findUser(db, email)
  const signedIn = await whilePasswordStays(login, { user_id: user?.id ?? '' }, () => signInByPassword(login, attempt))
  await counted.succeeded()
  const now = clock.now()
  await deleteEndedSessions(db, { now, idle_since: addSeconds(now, -SESSION_IDLE_SECONDS) })
  return signedIn
}

async function signInByPassword(
  login: LoginContext,
  attempt: { email: string; password: string; user_agent: string },
): Promise<SignedIn | SecondFactorDue> {
  const { email, password, user_agent } = attempt
  const library = await login.library()
  const { headers, response } = await library.api
    .signInEmail({
      body: { email, password, rememberMe: true },
      headers: new Headers({ 'user-agent': shortAgent(user_agent) }),
      returnHeaders: true,
    })
    .catch((error: unknown) => refuseAs(error, wrongPassword))
  if ('twoFactorRedirect' in response) return { challenge: cookieIn(headers, 'two_factor=') }
  const set_cookie = cookieIn(headers, 'session_token=')
  return { user_id: response.user.id, token_hash: hashToken(response.token), set_cookie }
}

/**
 * What `begin` returns, unless the person's password was replaced in the meantime, or is no longer that of `password_hash`: replacing a
 * password ends every session, and one that the old password let in but that began later would survive. Throws ApiError
 * `invalid_api_key` then.
 */
export async function whilePasswordStays<T extends SignedIn | SecondFactorDue>(
  login: LoginContext,
  person: { user_id: string; password_hash?: string },
  begin: () => Promise<T>,
): Promise<T> {
  const { user_id, password_hash } = person
  const before = password_hash ?? (await lockPassword(login.db, user_id))
  const begun = await begin()
  if ((await lockPassword(login.db, user_id)) === before) return begun
  if ('token_hash' in begun) await deleteSession(login.db, begun.token_hash)
  throw wrongPassword()
}

/** Begins a session of somebody who has proved otherwise who they are. */
export async function startSession(
  login: LoginContext,
  person: { user_id: string; user_agent: string },
): Promise<SignedIn> {
  const { user_id, user_agent } = person
  const { internalAdapter } = await (await login.library()).$context
  const { token } = await internalAdapter.createSession(user_id, false, { userAgent: shortAgent(user_agent) })
  return { user_id, token_hash: hashToken(token), set_cookie: writeSessionToken(token, login.cookie()) }
}

/**
 * Makes sure that a person who is signed in knows their password, and returns its hash. A wrong one counts as a failed sign-in.
 * Throws ApiError `invalid_api_key` with `param`, `conflict` for somebody without a password, `rate_limit_exceeded`.
 */
export async function checkPassword(
  login: LoginContext,
  attempt: { user_id: string; password: string; address: string; param: string },
): Promise<string> {
  const { db, clock, secrets } = login
  const { user_id, password, address, param } = attempt
  const [user, hash] = await Promise.all([findUser(db, user_id), lockPassword(db, user_id)])
  if (!user || !hash) {
    throw new ApiError('conflict', 'You sign in with an identity provider and have no password here.')
  }
  const counted = await countAttempt(db, { email: user.email, address, secrets, now: clock.now() })
  if (!(await verifyPassword({ hash, password }))) throw wrongOwnPassword(param)
  await counted.succeeded()
  return hash
}

/**
 * Replaces a person's own password after checking the present one, ends every session they have and begins a new one.
 * Throws as `checkPassword` does.
 */
export async function changePassword(
  login: LoginContext,
  change: Caller & { user_id: string; current_password: string; new_password: string },
): Promise<SignedIn> {
  const { db, clock } = login
  const { user_id, address, user_agent } = change
  const param = 'current_password'
  const checked = await checkPassword(login, { user_id, password: change.current_password, address, param })
  const password_hash = await hashPassword(change.new_password)
  await db.transaction().execute(async (tx) => {
    if ((await lockPassword(tx, user_id)) !== checked) throw wrongOwnPassword(param)
    await replacePassword(tx, { user_id, password_hash, now: clock.now() })
  })
  return whilePasswordStays(login, { user_id, password_hash }, () => startSession(login, { user_id, user_agent }))
}

/** The `Set-Cookie` among the library's whose name ends in `name`. */
export function cookieIn(headers: Headers, name: string): string {
  const found = headers.getSetCookie().find((each) => each.split(';', 1)[0]!.includes(name))
  if (!found) throw new Error(`the login library set no cookie ${name}`)
  return found
}

/** What the library refuses is the caller's mistake; anything else is a fault of ours or of the database. */
export function refuseAs(error: unknown, mistake: () => ApiError): never {
  const { statusCode } = error as { statusCode?: number }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) throw mistake()
  throw error
}

function wrongOwnPassword(param: string): ApiError {
  return new ApiError('invalid_api_key', 'Wrong password.', { param })
}

function wrongPassword(): ApiError {
  return new ApiError('invalid_api_key', 'Wrong email or password.')
}

/** As much as is kept of what a browser calls itself. */
export function shortAgent(user_agent: string): string {
  return user_agent.slice(0, 300)
}
