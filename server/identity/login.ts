import type { Kysely } from 'kysely'
import type { Clock } from '../platform/clock.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Database } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { countAttempt } from './attempts.ts'
import { hashToken, SESSION_IDLE_SECONDS } from './cookie.ts'
import type { LoginLibrary } from './login-library.ts'
import { findUser, replacePassword } from './store.ts'
import { deleteEndedSessions } from './store-sessions.ts'

/** A new console login: the row's token hash names it, `set_cookie` gives it to the browser. */
export type SignedIn = { user_id: string; token_hash: string; set_cookie: string }

export type LoginContext = {
  db: Kysely<Database>
  clock: Clock
  /** Keys the hashes of failed attempts. */
  secret: string
  library: () => Promise<LoginLibrary>
}

/**
 * Checks email and password and begins a session with a token never used before.
 * Throws ApiError `invalid_api_key` with one text for an unknown email and a wrong password, `rate_limit_exceeded` after ten failures.
 */
export async function signIn(
  login: LoginContext,
  attempt: { email: string; password: string; address: string; user_agent: string },
): Promise<SignedIn> {
  const { db, clock, secret } = login
  const { email, password, address } = attempt
  const counted = await countAttempt(db, { email, address, secret, now: clock.now() })
  const library = await login.library()
  const { headers, response } = await library.api
    .signInEmail({
      body: { email, password, rememberMe: true },
      headers: new Headers({ 'user-agent': attempt.user_agent.slice(0, 300) }),
      returnHeaders: true,
    })
    .catch(refuse)
  await counted.succeeded()
  const now = clock.now()
  await deleteEndedSessions(db, { now, idle_since: addSeconds(now, -SESSION_IDLE_SECONDS) })
  const set_cookie = headers.getSetCookie().find((each) => each.includes('session_token='))
  if (!set_cookie) throw new Error('the login library set no session cookie')
  return { user_id: response.user.id, token_hash: hashToken(response.token), set_cookie }
}

/**
 * Replaces a person's own password after checking the present one, ends every session they have and begins a new one.
 * Throws as `signIn` does.
 */
export async function changePassword(
  login: LoginContext,
  change: { user_id: string; current_password: string; new_password: string; address: string; user_agent: string },
): Promise<SignedIn> {
  const { db, clock } = login
  const { user_id, address, user_agent } = change
  const user = await findUser(db, user_id)
  if (!user) throw wrongPassword()
  await signIn(login, { email: user.email, password: change.current_password, address, user_agent })
  const password_hash = await hashPassword(change.new_password)
  await db.transaction().execute((tx) => replacePassword(tx, { user_id, password_hash, now: clock.now() }))
  return signIn(login, { email: user.email, password: change.new_password, address, user_agent })
}

/** scrypt with N = 16384, r = 16, p = 1 and a salt of its own, as the login library reads it. */
export async function hashPassword(password: string): Promise<string> {
  const { hashPassword: hash } = await import('better-auth/crypto')
  return hash(password)
}

export function wrongPassword(): ApiError {
  return new ApiError('invalid_api_key', 'Wrong email or password.')
}

/** What the library refuses is a wrong password to the outside; anything else is a fault of ours or of the database. */
function refuse(error: unknown): never {
  const { statusCode } = error as { statusCode?: number }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) throw wrongPassword()
  throw error
}
