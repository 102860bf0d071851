import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../../context.ts'

/** A session is over after this long without a request. */
export const SESSION_IDLE_SECONDS = 12 * 3600
/** A session is over after this long, however much it is used. */
export const SESSION_SECONDS = 7 * 24 * 3600

/** How the console's cookie is named, sent and signed. */
export type SessionCookie = {
  name: string
  attributes: { path: '/'; httpOnly: true; sameSite: 'lax'; secure: boolean }
  secrets: Secrets
}

/** The cookie of a service that browsers reach at `public_url`: `Secure`, and named so, over https. */
export function sessionCookie(options: { public_url: string; secrets: Secrets }): SessionCookie {
  const secure = options.public_url.startsWith('https://')
  return {
    name: `${secure ? '__Secure-' : ''}${COOKIE_PREFIX}.session_token`,
    attributes: { path: '/', httpOnly: true, sameSite: 'lax', secure },
    secrets: options.secrets,
  }
}

export const COOKIE_PREFIX = 'kinora'

/** The key of session cookies, derived so that it opens nothing else that `secret` protects. */
export function cookieSecret(secret: string): string {
  return createHmac('sha256', secret).update('console session cookie').digest('base64url')
}

/** The cookie of a sign-in whose password was right and whose second factor is due. Written and read by the login library. */
export function challengeCookie(session: SessionCookie): SessionCookie {
  return { ...session, name: session.name.replace('session_token', 'two_factor') }
}

/** The cookie that ties a sign-in at the identity provider to the browser that started it. */
export function stateCookie(session: SessionCookie): OidcCookie {
  return oidcCookie(session, 'oidc_state')
}

/** The cookie of somebody who came back from the identity provider and chooses one of several invitations. */
export function choiceCookie(session: SessionCookie): OidcCookie {
  return oidcCookie(session, 'oidc_choice')
}

type OidcCookie = { name: string; attributes: string }

function oidcCookie(session: SessionCookie, name: string): OidcCookie {
  const secure = session.attributes.secure ? ' Secure;' : ''
  return {
    name: session.name.replace('session_token', name),
    attributes: `Path=${OIDC_PATH}; HttpOnly;${secure} SameSite=Lax`,
  }
}

export const OIDC_PATH = '/console/auth/oidc'

/**
 * The token in a `Cookie` header, when its signature is ours, by any secret; null otherwise, so that guesses cost no database read.
 * The form is that of `signCookieValue`: percent-encoded `<token>.<base64 HMAC-SHA256 of token>`.
 * Source: https://www.npmjs.com/package/better-call
 */
export function readSessionToken(header: string, cookie: SessionCookie): string | null {
  const value = pairOf(header, cookie.name)?.slice(cookie.name.length + 1)
  if (value === undefined || value.length > 512) return null
  const [token, signature] = decode(value)
  if (!token || !signature) return null
  const given = Buffer.from(signature, 'base64')
  const isOurs = cookie.secrets.some((secret) => {
    const expected = sign(token, secret)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isOurs ? token : null
}

/** Whether a `Cookie` header has a session of ours, whoever signed it. */
export function hasSessionCookie(header: string, { name }: SessionCookie): boolean {
  return (pairOf(header, name) ?? '').length > name.length + 1
}

/** The pair `name=value` of this token, signed with the current secret: the login library knows no other. */
export function signedPair(token: string, cookie: SessionCookie): string {
  const signature = sign(token, cookie.secrets[0]).toString('base64')
  return `${cookie.name}=${encodeURIComponent(`${token}.${signature}`)}`
}

/** The `Set-Cookie` that gives a browser this token, as the login library writes it. */
export function writeSessionToken(token: string, cookie: SessionCookie): string {
  const secure = cookie.attributes.secure ? ' Secure;' : ''
  return `${signedPair(token, cookie)}; Max-Age=${SESSION_SECONDS}; Path=/; HttpOnly;${secure} SameSite=Lax`
}

/** The `Set-Cookie` that has a browser drop its token. */
export function clearSessionToken({ name, attributes }: Pick<SessionCookie, 'name' | 'attributes'>): string {
  return `${name}=; Max-Age=0; Path=/; HttpOnly;${attributes.secure ? ' Secure;' : ''} SameSite=Lax`
}

/** The one pair `name=value` of a `Cookie` header. */
export function pairOf(header: string, name: string): string | undefined {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
}

/** What is stored of a token. The token itself lives in the browser alone. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}

function sign(token: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(token).digest()
}

function decode(value: string): [string?, string?] {
  try {
    const text = decodeURIComponent(value)
    const dot = text.lastIndexOf('.')
    return [text.slice(0, Math.max(dot, 0)), text.slice(dot + 1)]
  } catch {
    return []
  }
}
