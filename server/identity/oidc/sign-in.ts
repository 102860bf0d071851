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
import { ApiError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { OutboundError } from '../../platform/outbound/error.ts'
import { pairOf, stateCookie } from '../caller/cookie.ts'
import { acceptInvitation, findInvitationOf } from '../invitations/store.ts'
import { recordRevoked } from '../keys/api-keys.ts'
import { type LoginContext, type SignedIn, startSession } from '../login/sign-in.ts'
import { addMember } from '../members/members.ts'
import { readEmail } from '../people/email.ts'
import { findLogins, findUser, insertUser, organizationsOf, type UserRow } from '../people/store.ts'
import { newRowId } from '../row-ids.ts'
import { type AuthorizationResponse, InvalidOidcReply, type OidcIdentity, type OidcProvider } from './provider.ts'
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
 * their subject or by an address that the provider vouches for. Throws OidcSignInError.
 */
export async function finishOidcSignIn(
  login: LoginContext,
  provider: OidcProvider,
  call: { response: AuthorizationResponse; cookie: string; user_agent: string; redirect_uri: string },
): Promise<SignedIn> {
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
  const user_id = await resolveUser(login, { identity, issuer: provider.issuer, now })
  return startSession(login, { user_id, user_agent })
}

type OidcLogin = { identity: OidcIdentity; issuer: string; now: Date }

/** Somebody may accept the invitation of this address with a password at the same time: then there is an account to find. */
async function resolveUser({ db }: LoginContext, oidc_login: OidcLogin): Promise<string> {
  const attempt = () => db.transaction().execute((tx) => resolveUserIn(tx, oidc_login))
  return attempt().catch((error: unknown) => {
    if (isUniqueViolation(error) || (error instanceof ApiError && error.code === 'conflict')) return attempt()
    throw error
  })
}

/** The user this identity belongs to. No account is created without an open invitation. Throws OidcSignInError. */
async function resolveUserIn(tx: Tx, { identity, issuer, now }: OidcLogin): Promise<string> {
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
  const user_id = user ? user.id : newId('user', now)
  if (!user || (await organizationsOf(tx, user_id)).length === 0) {
    await acceptOpenInvitation(tx, {
      user_id,
      email: user?.email ?? email!,
      name: identity.name,
      exists: user !== null,
      now,
    })
  }
  if (linked === null) {
    if (user) await requireUnlinked(tx, user, provider_id, now)
    await insertOidcLogin(tx, { id: newRowId('login', now), user_id, provider_id, subject, now })
  }
  return user_id
}

/** Accepts the newest open invitation of the address, and creates the user where there is none. Throws OidcSignInError. */
async function acceptOpenInvitation(
  tx: Tx,
  person: { user_id: string; email: string; name: string | null; exists: boolean; now: Date },
): Promise<void> {
  const { user_id, email, exists, now } = person
  const invitation = await findInvitationOf(tx, { email, now })
  if (!invitation || !(await acceptInvitation(tx, invitation.id))) {
    throw new OidcSignInError('oidc_no_account', 'There is neither an account nor an invitation of this address.')
  }
  const name = person.name ?? email.split('@', 1)[0]!
  const row = { id: user_id, login_id: '', email, name, password_hash: null, email_verified: true, now }
  if (!exists) await insertUser(tx, row)
  await addMember(tx, { org_id: invitation.org_id, user_id, role: invitation.role, now })
}

/**
 * An address may be given to another person at the provider: whoever is linked already stays linked. What was set up before the
 * address was verified ends here, since another person may have done it. Throws OidcSignInError.
 */
async function requireUnlinked(tx: Tx, user: UserRow, provider_id: string, now: Date): Promise<void> {
  const logins = await findLogins(tx, user.id)
  if (logins.some((each) => each.provider_id === provider_id)) {
    throw new OidcSignInError('oidc_other_account', 'The account is linked to another person of the provider.')
  }
  if (user.email_verified) return
  const keys = await dropUnverifiedLogin(tx, { user_id: user.id, now })
  await recordRevoked(tx, keys, { actor: { kind: 'person', user_id: user.id, key_id: null }, now })
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
