import { addSeconds } from '../../platform/clock.ts'
import { sealText, textUnsealer } from '../../platform/crypto/seal.ts'
import { ApiError } from '../../platform/errors.ts'
import { choiceCookie, pairOf } from '../caller/cookie.ts'
import type { LoginContext } from '../login/sign-in.ts'
import type { OidcIdentity } from './provider.ts'

/** Somebody whom the provider knows, whom several organizations invite by `email`, and who is in none yet. */
export type OfferedChoice = { identity: OidcIdentity; email: string }

const CHOICE_SECONDS = 600
const LABEL = 'choice of an invitation'

/** The `Set-Cookie` with which the browser comes back to choose. Nothing is stored: it holds what the provider said, encrypted. */
export function offerChoice(login: LoginContext, issuer: string, choice: OfferedChoice): string {
  const until = addSeconds(login.clock.now(), CHOICE_SECONDS).getTime()
  const sealed = sealText(login.secrets[0], { label: LABEL, binding: issuer }, JSON.stringify({ ...choice, until }))
  const { name, attributes } = choiceCookie(login.cookie())
  return `${name}=${sealed}; Max-Age=${CHOICE_SECONDS}; ${attributes}`
}

/** What `offerChoice` gave to this browser at most ten minutes ago. Throws ApiError `missing_api_key`. */
export function readInvitationChoice(login: LoginContext, issuer: string, cookie: string): OfferedChoice {
  const sealed = pairOf(cookie, choiceCookie(login.cookie()).name)?.split('=')[1] ?? ''
  const text = textUnsealer(login.secrets, LABEL)(issuer, sealed)
  const choice = text === null ? null : (JSON.parse(text) as OfferedChoice & { until: number })
  if (choice !== null && choice.until > login.clock.now().getTime()) return choice
  throw new ApiError(
    'missing_api_key',
    'This sign-in took too long or has ended. Sign in with the identity provider again.',
  )
}

/** The `Set-Cookie` that has the browser drop it. */
export function clearChoice(login: LoginContext): string {
  const { name, attributes } = choiceCookie(login.cookie())
  return `${name}=; Max-Age=0; ${attributes}`
}
