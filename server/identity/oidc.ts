import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { addSeconds } from '../platform/clock.ts'
import { isUniqueViolation, type Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { OutboundError } from '../platform/outbound-error.ts'
import { pairOf, stateCookie } from './cookie.ts'
import { readEmail } from './email.ts'
import { type LoginContext, type SignedIn, startSession } from './login.ts'
import { addMember } from './members.ts'
import { OidcDistrust, type OidcIdentity, type OidcProvider } from './oidc-provider.ts'
import { newRowId } from './row-ids.ts'
import { findLogins, findUser, insertUser, organizationsOf, type UserRow } from './store.ts'
import { acceptInvitation, findInvitationOf } from './store-members.ts'
import {
  dropUnverifiedLogin,
  findUserBySubject,
  insertOidcLogin,
  insertOidcSignIn,
  lockAddress,
  takeOidcSignIn,
} from './store-oidc.ts'

/** Why a sign-in at the identity provider came to nothing, as the sign-in page is told. Source: docs/api/console.md. */
export type OidcReason =
  | 'oidc_unavailable'
  | 'oidc_denied'
  | 'oidc_expired'
  | 'oidc_failed'
  | 'oidc_no_account'
  | 'oidc_other_account'

export class OidcRefusal extends Error {
  override name = 'OidcRefusal'
  readonly reason: OidcReason

  constructor(reason: OidcReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** How long a person may take at the provider. */
const SIGN_IN_SECONDS = 600

/** Sends the browser to the provider, with a state that it must bring back. Throws OidcRefusal. */
export async function beginOidc(
  login: LoginContext,
  provider: OidcProvider,
  redirect_uri: string,
): Promise<{ url: string; set_cookie: string }> {
  const now = login.clock.now()
  const [state, nonce, code_verifier] = [randomText(), randomText(), randomText()]
  const code_challenge = digest(code_verifier).toString('base64url')
  const url = await provider.authorizationUrl({ state, nonce, code_challenge, redirect_uri }).catch(refuse)
  const row = { state_hash: digest(state), nonce, code_verifier, created_at: now }
  await insertOidcSignIn(login.db, row, addSeconds(now, -SIGN_IN_SECONDS))
  const { name, attributes } = stateCookie(login.cookie())
  return { url, set_cookie: `${name}=${state}; Max-Age=${SIGN_IN_SECONDS}; ${attributes}` }
}

/** What the browser brought back. */
export type OidcAnswer = { state?: string; code?: string; error?: string; iss?: string }

/**
 * Ends a sign-in: the state is of this browser and taken once, the answer of the configured issuer, and the person known by their
 * subject or by an address that the provider vouches for. Throws OidcRefusal.
 */
export async function endOidc(
  login: LoginContext,
  provider: OidcProvider,
  call: { answer: OidcAnswer; cookie: string; user_agent: string; redirect_uri: string },
): Promise<SignedIn> {
  const { answer, redirect_uri, user_agent } = call
  const now = login.clock.now()
  const state_hash = digest(answer.state ?? '')
  const own = pairOf(call.cookie, stateCookie(login.cookie()).name)?.split('=')[1] ?? ''
  const ours = timingSafeEqual(digest(own), state_hash)
  const begun = ours && (await takeOidcSignIn(login.db, { state_hash, before: addSeconds(now, -SIGN_IN_SECONDS) }))
  if (!begun) throw new OidcRefusal('oidc_expired', 'The state is unknown, taken, too old or of another browser.')
  await provider.requireIssuer(answer.iss).catch(refuse)
  const { code, error } = answer
  if (error !== undefined || !code) {
    const reason = error === 'access_denied' ? 'oidc_denied' : 'oidc_failed'
    throw new OidcRefusal(reason, 'The provider gave no code.')
  }
  const { code_verifier, nonce } = begun
  const identity = await provider.identify({ code, code_verifier, nonce, redirect_uri }).catch(refuse)
  const user_id = await admitOnce(login, { identity, issuer: provider.issuer, now })
  return startSession(login, { user_id, user_agent })
}

type Arrival = { identity: OidcIdentity; issuer: string; now: Date }

/** Somebody may accept the invitation of this address with a password at the same time: then there is an account to find. */
async function admitOnce({ db }: LoginContext, arrival: Arrival): Promise<string> {
  const attempt = () => db.transaction().execute((tx) => admit(tx, arrival))
  return attempt().catch((error: unknown) => {
    if (isUniqueViolation(error) || (error instanceof ApiError && error.code === 'conflict')) return attempt()
    throw error
  })
}

/** The person this is. No account is made but for an open invitation. Throws OidcRefusal. */
async function admit(tx: Tx, { identity, issuer, now }: Arrival): Promise<string> {
  const { subject, verified_email } = identity
  const provider_id = `oidc ${issuer}`
  await lockAddress(tx, subject)
  const linked = await findUserBySubject(tx, { provider_id, subject })
  const email = linked === null && verified_email !== null ? addressOf(verified_email) : null
  if (linked === null && email === null) {
    throw new OidcRefusal('oidc_no_account', 'The provider does not vouch for an address.')
  }
  if (email !== null) await lockAddress(tx, email)
  const user = await findUser(tx, linked ?? email!)
  const user_id = user ? user.id : newId('user', now)
  if (!user || (await organizationsOf(tx, user_id)).length === 0) {
    await join(tx, { user_id, email: user?.email ?? email!, name: identity.name, known: user !== null, now })
  }
  if (linked === null) {
    if (user) await requireUnlinked(tx, user, provider_id, now)
    await insertOidcLogin(tx, { id: newRowId('login', now), user_id, provider_id, subject, now })
  }
  return user_id
}

/** Takes the newest open invitation of the address, and makes the account when there is none. Throws OidcRefusal. */
async function join(
  tx: Tx,
  person: { user_id: string; email: string; name: string | null; known: boolean; now: Date },
): Promise<void> {
  const { user_id, email, known, now } = person
  const invitation = await findInvitationOf(tx, { email, now })
  if (!invitation || !(await acceptInvitation(tx, invitation.id))) {
    throw new OidcRefusal('oidc_no_account', 'There is neither an account nor an invitation of this address.')
  }
  const name = person.name ?? email.split('@', 1)[0]!
  const row = { id: user_id, login_id: '', email, name, password_hash: null, email_verified: true, now }
  if (!known) await insertUser(tx, row)
  await addMember(tx, { org_id: invitation.org_id, user_id, role: invitation.role, now })
}

/**
 * An address may be given to another person at the provider: whoever is linked already stays linked. What was chosen before the
 * address was verified ends here, since another person may have chosen it. Throws OidcRefusal.
 */
async function requireUnlinked(tx: Tx, user: UserRow, provider_id: string, now: Date): Promise<void> {
  const logins = await findLogins(tx, user.id)
  if (logins.some((each) => each.provider_id === provider_id)) {
    throw new OidcRefusal('oidc_other_account', 'The account is linked to another person of the provider.')
  }
  if (!user.email_verified) await dropUnverifiedLogin(tx, { user_id: user.id, now })
}

function addressOf(text: string): string | null {
  try {
    return readEmail(text)
  } catch {
    return null
  }
}

function refuse(error: unknown): never {
  if (error instanceof OidcDistrust) throw new OidcRefusal('oidc_failed', error.message)
  if (error instanceof OutboundError) throw new OidcRefusal('oidc_unavailable', `${error.reason}: ${error.message}`)
  throw error
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
