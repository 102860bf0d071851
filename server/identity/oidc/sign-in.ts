import { createHash, timingSafeEqual } from 'node:crypto'
import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
} from 'oauth4webapi'
import { addSeconds } from '../../platform/clock.ts'
import { isUniqueViolation, type Tx } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { OutboundError } from '../../platform/outbound/error.ts'
import { pairOf, stateCookie } from '../caller/cookie.ts'
import { joinIn } from '../invitations/invitations.ts'
import { findInvitationsOf } from '../invitations/store.ts'
import { type LoginContext, type SignedIn, startSession } from '../login/sign-in.ts'
import { readEmail } from '../people/email.ts'
import { findLogins, findUser, organizationsOf, type UserRow } from '../people/store.ts'
import { recordEnded } from '../people/unverified.ts'
import { newRowId } from '../row-ids.ts'
import type { AuthorizationResponse } from '../schema.ts'
import { offerChoice, readInvitationChoice } from './invitation-choice.ts'
import { InvalidOidcReply, type OidcIdentity, type OidcProvider } from './provider.ts'
import {
  dropUnverifiedLogin,
  findUserBySubject,
  insertOidcLogin,
  insertOidcSignIn,
  lockAddress,
  takeOidcSignIn,
} from './store.ts'

/** Why a sign-in at the identity provider failed, for the sign-in page. Source: docs/api/console.md. */
export type OidcReason =
  | 'oidc_unavailable'
  | 'oidc_denied'
  | 'oidc_expired'
  | 'oidc_failed'
  | 'oidc_no_account'
  | 'oidc_other_account'

export class OidcSignInError extends Error {
  override name = 'OidcSignInError'
  readonly reason: OidcReason

  constructor(reason: OidcReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** How long a person may take at the provider. */
const SIGN_IN_SECONDS = 600

/** Where the browser is sent to, and the cookie that holds the state it must bring back. Throws OidcSignInError. */
export async function startOidcSignIn(
  login: LoginContext,
  provider: OidcProvider,
  redirect_uri: string,
): Promise<{ url: string; set_cookie: string }> {
  const now = login.clock.now()
  const state = generateRandomState()
  const nonce = generateRandomNonce()
  const code_verifier = generateRandomCodeVerifier()
  const code_challenge = await calculatePKCECodeChallenge(code_verifier)
  const url = await provider.authorizationUrl({ state, nonce, code_challenge, redirect_uri }).catch(throwSignInError)
  const row = { state_hash: digest(state), nonce, code_verifier, created_at: now }
  await insertOidcSignIn(login.db, row, addSeconds(now, -SIGN_IN_SECONDS))
  const { name, attributes } = stateCookie(login.cookie())
  return { url, set_cookie: `${name}=${state}; Max-Age=${SIGN_IN_SECONDS}; ${attributes}` }
}

/**
 * Finishes a sign-in: the state is this browser's and used once, the response is the configured issuer's, and the person is known by
 * their subject or by an address that the provider vouches for. `choice` is the `Set-Cookie` for somebody whom several organizations invite.
 * Throws OidcSignInError.
 */
export async function finishOidcSignIn(
  login: LoginContext,
  provider: OidcProvider,
  call: { response: AuthorizationResponse; cookie: string; user_agent: string; redirect_uri: string },
): Promise<SignedIn | { choice: string }> {
  const { response, redirect_uri, user_agent } = call
  const now = login.clock.now()
  const state = pairOf(call.cookie, stateCookie(login.cookie()).name)?.split('=')[1] ?? ''
  const state_hash = digest(state)
  const is_same_browser = timingSafeEqual(state_hash, digest(response.state ?? ''))
  const before = addSeconds(now, -SIGN_IN_SECONDS)
  const started = is_same_browser ? await takeOidcSignIn(login.db, { state_hash, before }) : null
  if (!started) throw new OidcSignInError('oidc_expired', 'The state is unknown, used, too old or of another browser.')
  const { nonce, code_verifier } = started
  const expected = { state, nonce, code_verifier, redirect_uri }
  const identity = await provider.authenticate(response, expected).catch(throwSignInError)
  const { issuer } = provider
  const found = await resolveUser(login, { identity, issuer, now })
  if ('invited' in found) return { choice: offerChoice(login, issuer, { identity, email: found.invited }) }
  return startSession(login, { ...found, user_agent })
}

/**
 * The sign-in of somebody who has chosen an invitation, once. Throws ApiError `missing_api_key` without a choice of this browser that is still
 * due, and `not_found` for an invitation that is not open, or another address's.
 */
export async function finishByInvitation(
  login: LoginContext,
  { issuer }: OidcProvider,
  call: { cookie: string; invitation_id: string; user_agent: string },
): Promise<SignedIn> {
  const { cookie, invitation_id, user_agent } = call
  const { identity } = readInvitationChoice(login, issuer, cookie)
  try {
    const found = await resolveUser(login, { identity, issuer, invitation_id, now: login.clock.now() })
    if ('user_id' in found) return startSession(login, { ...found, user_agent })
  } catch (error) {
    if (!(error instanceof OidcSignInError)) throw error
  }
  throw notFound('invitation')
}

/** `invitation_id`: the one that was chosen, of somebody who is in no organization. */
type OidcLogin = { identity: OidcIdentity; issuer: string; invitation_id?: string; now: Date }
/** `invited`: the address of somebody whom several organizations invite, and who is in none. */
type Found = { user_id: string } | { invited: string }

/**
 * Somebody may accept an invitation of this address with a password at the same time, or withdraw it: then there is an account to find, or none.
 */
async function resolveUser({ db }: LoginContext, oidc_login: OidcLogin): Promise<Found> {
  const attempt = () => db.transaction().execute((tx) => resolveUserIn(tx, oidc_login))
  return attempt().catch((error: unknown) => {
    const wasLate = error instanceof ApiError && (error.code === 'conflict' || error.code === 'not_found')
    if (wasLate || isUniqueViolation(error)) return attempt()
    throw error
  })
}

/** The user this identity belongs to. No account is created without an open invitation. Throws OidcSignInError. */
async function resolveUserIn(tx: Tx, { identity, issuer, invitation_id, now }: OidcLogin): Promise<Found> {
  const { subject, verified_email } = identity
  const provider_id = `oidc ${issuer}`
  await lockAddress(tx, subject)
  const linked = await findUserBySubject(tx, { provider_id, subject })
  const email = linked === null && verified_email !== null ? addressOf(verified_email) : null
  if (linked === null && email === null) {
    throw new OidcSignInError('oidc_no_account', 'The provider does not vouch for an address.')
  }
  if (email !== null) await lockAddress(tx, email)
  const user = await findUser(tx, linked ?? email!)
  if (user && linked === null) await requireUnlinked(tx, user, provider_id)
  const isMember = user !== null && (await organizationsOf(tx, user.id)).length > 0
  if (isMember && invitation_id !== undefined) throw new OidcSignInError('oidc_expired', 'The choice was made before.')
  const address = user?.email ?? email!
  const invitations = isMember ? [] : await findInvitationsOf(tx, { email: address, now })
  if (invitations.length > 1 && invitation_id === undefined) return { invited: address }
  const invitation = invitations.find(({ id }) => invitation_id === undefined || id === invitation_id)
  if (!isMember && !invitation)
    throw new OidcSignInError('oidc_no_account', 'There is neither an account nor an invitation of this address.')
  const name = identity.name ?? address.split('@', 1)[0]!
  const joiner = user ? { user_id: user.id } : { newcomer: { name, password_hash: null, email_verified: true } }
  const user_id = invitation ? await joinIn(tx, invitation, { ...joiner, now }) : user!.id
  if (linked === null) {
    if (user && !user.email_verified) await endUnverified(tx, { user_id, now })
    await insertOidcLogin(tx, { id: newRowId('login', now), user_id, provider_id, subject, now })
  }
  return { user_id }
}

/** An address may be given to another person at the provider: whoever is linked already stays linked. Throws OidcSignInError. */
async function requireUnlinked(tx: Tx, user: UserRow, provider_id: string): Promise<void> {
  const logins = await findLogins(tx, user.id)
  if (logins.some((each) => each.provider_id === provider_id)) {
    throw new OidcSignInError('oidc_other_account', 'The account is linked to another person of the provider.')
  }
}

/** What was set up before the address was verified ends, since another person may have done it. */
async function endUnverified(tx: Tx, { user_id, now }: { user_id: string; now: Date }): Promise<void> {
  const ended = await dropUnverifiedLogin(tx, { user_id, now })
  await recordEnded(tx, ended, { actor: { kind: 'person', user_id, key_id: null }, now })
}

function addressOf(text: string): string | null {
  try {
    return readEmail(text)
  } catch {
    return null
  }
}

function throwSignInError(error: unknown): never {
  if (error instanceof AuthorizationResponseError) {
    const reason = error.error === 'access_denied' ? 'oidc_denied' : 'oidc_failed'
    throw new OidcSignInError(reason, 'The provider sent an error instead of a code.')
  }
  if (error instanceof InvalidOidcReply) throw new OidcSignInError('oidc_failed', error.message)
  if (error instanceof OutboundError) throw new OidcSignInError('oidc_unavailable', `${error.reason}: ${error.message}`)
  throw error
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
