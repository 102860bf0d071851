import { addSeconds } from '../../platform/clock.ts'
import { isUniqueViolation } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { challengeCookie, hashToken, readSessionToken, signedPair } from '../caller/cookie.ts'
import { countAttempt, keyed } from '../login/attempts.ts'
import {
  type Caller,
  checkPassword,
  cookieIn,
  type LoginContext,
  refuseAs,
  type SignedIn,
  shortAgent,
  startSession,
  whilePasswordStays,
} from '../login/sign-in.ts'
import { deleteSessionsOf } from '../login/store.ts'
import { findUser } from '../people/store.ts'
import { renewTwoFactor } from './secrets.ts'
import { deleteTwoFactor, type Encrypted, findEncrypted, hasTwoFactor, takeCode } from './store.ts'

/** A code is valid for its half minute and those before and after it; it is not accepted again for longer than that. */
const CODE_SECONDS = 120

/** What proves the second factor: six digits of the app, or one of the recovery codes. */
export type Proof = { code?: string; recovery_code?: string }

/** Somebody who is signed in; `cookie` is the `Cookie` header of the request. */
export type Holder = Caller & { user_id: string; cookie: string }

/**
 * Makes a new secret, which counts from `confirmTwoFactor` on. The secret is returned here and never again.
 * Throws ApiError `conflict` when a second factor is on already, else as `checkPassword` does.
 */
export async function enrolTwoFactor(
  login: LoginContext,
  holder: Holder & { password: string },
): Promise<{ secret: string; uri: string }> {
  await requireTwoFactor(login, holder.user_id, false)
  const { password } = holder
  await checkPassword(login, { ...holder, param: 'password' })
  const library = await login.library()
  const made = await library.api
    .enableTwoFactor({ body: { password, method: 'totp' }, headers: sessionHeaders(login, holder) })
    .catch((error: unknown) => {
      if (isUniqueViolation(error)) throw changedMeanwhile()
      return refuseAs(error, changedMeanwhile)
    })
  if (!('totpURI' in made)) throw new Error('the login library made no secret')
  // Where the secret before was confirmed meanwhile, this one was not stored.
  await requireTwoFactor(login, holder.user_id, false)
  return { secret: new URL(made.totpURI).searchParams.get('secret')!, uri: made.totpURI }
}

/**
 * Turns the second factor on by a first code. Every session of the person ends and a new one begins.
 * Throws ApiError `invalid_api_key` for a wrong code, `conflict` without an enrolment, when it is on, or when the secret was replaced
 * meanwhile, `rate_limit_exceeded`.
 */
export async function confirmTwoFactor(
  login: LoginContext,
  holder: Holder & { code: string },
): Promise<{ session: SignedIn; recovery_codes: string[] }> {
  const { user_id } = holder
  await requireTwoFactor(login, user_id, false)
  const enrolled = await renewTwoFactor(login, user_id)
  const session = await whilePasswordStays(login, { user_id }, async () => {
    await proveBySession(login, holder, { code: holder.code })
    await requireUnreplaced(login, user_id, enrolled)
    return restart(login, holder)
  })
  const { api } = await login.library()
  const { backupCodes } = await api.viewBackupCodes({ body: { userId: user_id } })
  return { session, recovery_codes: backupCodes }
}

/**
 * The secret that counts now is the one whose code was proved. Another, which nobody may have, would lock the person out: the factor is
 * turned off again, and `conflict` thrown.
 */
async function requireUnreplaced(login: LoginContext, user_id: string, proved: Encrypted | null): Promise<void> {
  const stored = await findEncrypted(login.db, user_id)
  if (stored?.secret === proved?.secret) return
  await login.db.transaction().execute((tx) => deleteTwoFactor(tx, user_id))
  throw changedMeanwhile()
}

/** How many recovery codes are left; null without a second factor. */
export async function recoveryCodesLeft(login: LoginContext, user_id: string): Promise<number | null> {
  if (!(await hasTwoFactor(login.db, user_id))) return null
  await renewTwoFactor(login, user_id)
  const { api } = await login.library()
  return (await api.viewBackupCodes({ body: { userId: user_id } })).backupCodes.length
}

/** Replaces the recovery codes. Throws as `disableTwoFactor` does. */
export async function renewRecoveryCodes(
  login: LoginContext,
  holder: Holder & Proof & { password: string },
): Promise<string[]> {
  await requireTwoFactor(login, holder.user_id, true)
  await checkPassword(login, { ...holder, param: 'password' })
  await proveBySession(login, holder, holder)
  const { api } = await login.library()
  const body = { password: holder.password }
  const made = await api
    .generateBackupCodes({ body, headers: sessionHeaders(login, holder) })
    .catch((error: unknown) => refuseAs(error, changedMeanwhile))
  return made.backupCodes
}

/**
 * Turns the second factor off. Every session of the person ends and a new one begins.
 * Throws ApiError `conflict` when it is off, `invalid_api_key` with the `param` that is wrong, `rate_limit_exceeded`.
 */
export async function disableTwoFactor(
  login: LoginContext,
  holder: Holder & Proof & { password: string },
): Promise<SignedIn> {
  await requireTwoFactor(login, holder.user_id, true)
  return whilePasswordStays(login, holder, async () => {
    await checkPassword(login, { ...holder, param: 'password' })
    await proveBySession(login, holder, holder)
    await login.db.transaction().execute((tx) => deleteTwoFactor(tx, holder.user_id))
    return startSession(login, holder)
  })
}

/**
 * The second step of signing in, by the challenge cookie of the first. Returns the session and the `Set-Cookie` that ends the challenge.
 * Throws ApiError `missing_api_key` for a challenge that is over, `invalid_api_key` for a wrong code, `rate_limit_exceeded`.
 */
export async function signInBySecondFactor(
  login: LoginContext,
  attempt: Caller & Proof & { cookie: string },
): Promise<SignedIn & { end_challenge: string }> {
  const cookie = challengeCookie(login.cookie())
  const challenge = readSessionToken(attempt.cookie, cookie)
  const library = await login.library()
  const { internalAdapter } = await library.$context
  const row = challenge === null ? null : await internalAdapter.findVerificationValue(challenge)
  if (challenge === null || !row) throw challengeOver()
  const headers = new Headers({
    cookie: signedPair(challenge, cookie),
    'user-agent': shortAgent(attempt.user_agent),
  })
  return whilePasswordStays(login, { user_id: row.value }, async () => {
    const answer = await prove(login, { ...attempt, user_id: row.value, headers })
    const set_cookie = cookieIn(answer, 'session_token=')
    const end_challenge = cookieIn(answer, 'two_factor=')
    return { user_id: row.value, token_hash: hashOf(login, set_cookie), set_cookie, end_challenge }
  })
}

async function proveBySession(login: LoginContext, holder: Holder, { code, recovery_code }: Proof): Promise<void> {
  const { user_id, address } = holder
  await prove(login, { user_id, address, code, recovery_code, headers: sessionHeaders(login, holder) })
}

/** Counts the attempt, then has the library check the code: one of the app, or a recovery code, which is used up. Returns its headers. */
async function prove(
  login: LoginContext,
  attempt: Proof & { user_id: string; address: string; headers: Headers },
): Promise<Headers> {
  const { db, clock, secrets } = login
  const { user_id, address, headers, code, recovery_code } = attempt
  const user = await findUser(db, user_id)
  if (!user) throw challengeOver()
  await renewTwoFactor(login, user_id)
  const now = clock.now()
  const counted = await countAttempt(db, { email: user.email, address, secrets, now })
  const { api } = await login.library()
  const bySession = readSessionToken(headers.get('cookie') ?? '', login.cookie()) !== null
  if (code !== undefined) {
    const code_hashes = keyed(secrets, `code ${user_id} ${code}`)
    const fresh = await takeCode(db, { user_id, code_hashes, used_at: now, since: addSeconds(now, -CODE_SECONDS) })
    if (!fresh) throw wrongCode('code')
  }
  const answer = await (code === undefined
    ? api.verifyBackupCode({
        body: { code: recovery_code ?? '', disableSession: bySession },
        headers,
        returnHeaders: true,
      })
    : api.verifyTOTP({ body: { code }, headers, returnHeaders: true })
  ).catch((error: unknown) => refuseCode(error, code === undefined ? 'recovery_code' : 'code'))
  await counted.succeeded()
  return answer.headers
}

/** Throws ApiError `conflict` unless the second factor is on, or off, as `wanted`. */
async function requireTwoFactor(login: LoginContext, user_id: string, wanted: boolean): Promise<void> {
  if ((await hasTwoFactor(login.db, user_id)) === wanted) return
  throw new ApiError('conflict', `The second factor is ${wanted ? 'off' : 'on already'}.`)
}

/** Ends every session of the person and begins a new one. */
async function restart(login: LoginContext, holder: Holder): Promise<SignedIn> {
  await deleteSessionsOf(login.db, holder.user_id)
  return startSession(login, holder)
}

/** The library is shown the session alone: a challenge beside it could be another person's. */
function sessionHeaders(login: LoginContext, holder: Holder): Headers {
  const cookie = login.cookie()
  const token = readSessionToken(holder.cookie, cookie)
  return new Headers({ cookie: token === null ? '' : signedPair(token, cookie) })
}

function hashOf(login: LoginContext, set_cookie: string): string {
  return hashToken(readSessionToken(set_cookie, login.cookie())!)
}

/** The library's error for a wrong code; its errors for too many tries and for an ended challenge mean starting again. */
function refuseCode(error: unknown, param: string): never {
  const code = (error as { body?: { code?: string } }).body?.code ?? ''
  return refuseAs(error, () => {
    if (/^INVALID_(BACKUP_)?CODE$/.test(code)) return wrongCode(param)
    if (/NOT_ENABLED$/.test(code)) return new ApiError('conflict', 'There is no second factor to prove. Enrol first.')
    return challengeOver()
  })
}

function wrongCode(param: string): ApiError {
  return new ApiError('invalid_api_key', 'Wrong code. A code works only once; wait for the next one.', { param })
}

function challengeOver(): ApiError {
  return new ApiError('missing_api_key', 'This sign-in has ended. Start again with your password.')
}

function changedMeanwhile(): ApiError {
  return new ApiError(
    'conflict',
    'The second factor was changed in the meantime. Check whether it is on, then try again.',
  )
}
