import type { Clock } from '../platform/clock.ts'
import type { OidcConfig } from '../platform/config.ts'
import { type EngineClient, type EngineReply, engineClient } from '../platform/outbound.ts'
import { hasUnstorableText } from '../platform/text.ts'

/** What the provider says of a person, with its signature checked. `email` only where it vouches for it. */
export type OidcIdentity = { subject: string; verified_email: string | null; name: string | null }

/** Says why an answer of the provider is not believed. Holds no token, code or secret. */
export class OidcDistrust extends Error {
  override name = 'OidcDistrust'
}

export type OidcProvider = {
  issuer: string
  /** Where the browser is sent to. Throws OutboundError or OidcDistrust. */
  authorizationUrl(request: {
    state: string
    nonce: string
    code_challenge: string
    redirect_uri: string
  }): Promise<string>
  /** Throws OidcDistrust when an answer brought by the browser names another issuer, or should name one and does not. */
  requireIssuer(iss: string | undefined): Promise<void>
  /** Gives the code for an ID token and checks it in full. Throws OutboundError or OidcDistrust. */
  identify(answer: { code: string; code_verifier: string; nonce: string; redirect_uri: string }): Promise<OidcIdentity>
  close(): Promise<void>
}

type Metadata = {
  authorization_endpoint: string
  token_endpoint: string
  jwks_uri: string
  userinfo_endpoint?: string
  token_endpoint_auth_methods_supported?: string[]
  authorization_response_iss_parameter_supported?: boolean
}

type Claims = Record<string, unknown>

/** The discovery document is read again after this long. */
const METADATA_SECONDS = 3600
const CALL_MS = 10_000
const REPLY_BYTES_MAX = 1024 * 1024
/** Clocks differ. */
const TOLERANCE_SECONDS = 60
/** An ID token is used right after it was made. */
const TOKEN_AGE_SECONDS = 600
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']

/**
 * Speaks to one OpenID Connect provider, and to the hosts its discovery document names.
 * Source: OpenID Connect Core 1.0, 3.1; Discovery 1.0, 4; RFC 7636; RFC 9207.
 */
export function openOidcProvider(settings: OidcConfig, { clock }: { clock: Clock }): OidcProvider {
  const { issuer, client_id, scopes } = settings
  const hosts = openHosts(issuer)
  const jwksCacheKey = {}
  let known: { metadata: Promise<Metadata>; until: number } | null = null

  const discover = (): Promise<Metadata> => {
    if (known && performance.now() < known.until) return known.metadata
    const metadata = readMetadata(hosts, issuer)
    known = { metadata, until: performance.now() + METADATA_SECONDS * 1000 }
    metadata.catch(() => {
      known = null
    })
    return metadata
  }

  const verify = async (token: string, jwks_uri: string): Promise<Claims> => {
    const { verifyJwsAccessToken } = await import('better-auth/oauth2')
    const jwksFetch = async () => objectOf(await hosts.get(jwks_uri), 'keys') as never
    const verifyOptions = {
      ...{ issuer, audience: client_id, algorithms: ALGORITHMS, requiredClaims: ['sub', 'exp', 'iat', 'nonce'] },
      ...{ clockTolerance: TOLERANCE_SECONDS, maxTokenAge: TOKEN_AGE_SECONDS, currentDate: clock.now() },
    }
    return verifyJwsAccessToken(token, { jwksFetch, jwksCacheKey, verifyOptions }).catch((error: unknown) => {
      if (isOfOutbound(error)) throw error
      throw new OidcDistrust(`The ID token is not good: ${(error as { code?: string }).code ?? 'unreadable'}.`)
    })
  }

  return {
    issuer,
    async authorizationUrl(request) {
      const url = new URL((await discover()).authorization_endpoint)
      const query = { response_type: 'code', client_id, scope: scopes.join(' '), code_challenge_method: 'S256' }
      for (const [name, value] of Object.entries({ ...query, ...request })) url.searchParams.set(name, value)
      return url.href
    },
    async requireIssuer(iss) {
      const promised = (await discover()).authorization_response_iss_parameter_supported === true
      if (iss === undefined ? !promised : iss === issuer) return
      throw new OidcDistrust('The answer does not come from the configured issuer.')
    },
    async identify({ code, code_verifier, nonce, redirect_uri }) {
      const metadata = await discover()
      const form = { grant_type: 'authorization_code', code, code_verifier, redirect_uri }
      const tokens = objectOf(await hosts.post(metadata.token_endpoint, authenticated(settings, metadata, form)))
      if (typeof tokens.id_token !== 'string') throw new OidcDistrust('The token endpoint gave no ID token.')
      const claims = await verify(tokens.id_token, metadata.jwks_uri)
      requireOwn(claims, { client_id, nonce })
      const { userinfo_endpoint } = metadata
      if (claims.email !== undefined || !userinfo_endpoint) return identityOf(claims)
      const bearer = { authorization: `Bearer ${String(tokens.access_token)}` }
      const info = objectOf(await hosts.get(userinfo_endpoint, bearer))
      if (info.sub !== claims.sub) throw new OidcDistrust('The user information is of somebody else.')
      return identityOf({ ...info, sub: claims.sub })
    },
    close: () => hosts.close(),
  }
}

/** Throws OidcDistrust unless the token was made for us alone and for this very sign-in. */
function requireOwn(claims: Claims, own: { client_id: string; nonce: string }): void {
  const { aud, azp, nonce, sub } = claims
  if (nonce !== own.nonce) throw new OidcDistrust('The ID token is of another sign-in.')
  const several = Array.isArray(aud) && aud.length > 1
  if (azp === undefined ? several : azp !== own.client_id) {
    throw new OidcDistrust('The ID token was made for another client.')
  }
  if (typeof sub !== 'string' || sub === '' || sub.length > 255 || hasUnstorableText(sub))
    throw new OidcDistrust('The ID token names nobody.')
}

function identityOf({ sub, email, email_verified, name }: Claims): OidcIdentity {
  const vouched = email_verified === true || email_verified === 'true'
  return {
    subject: sub as string,
    verified_email: vouched && typeof email === 'string' ? email : null,
    name: typeof name === 'string' && !hasUnstorableText(name) ? name.trim().slice(0, 100) || null : null,
  }
}

async function readMetadata(hosts: Hosts, issuer: string): Promise<Metadata> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const metadata = objectOf(await hosts.get(url), 'authorization_endpoint', 'token_endpoint', 'jwks_uri')
  if (metadata.issuer !== issuer) throw new OidcDistrust('The discovery document is of another issuer.')
  const { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint = token_endpoint } = metadata
  for (const each of [authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint]) {
    const url = typeof each === 'string' && URL.canParse(each) ? new URL(each) : null
    const plain = url?.protocol === 'http:' && url.origin === new URL(issuer).origin
    if (url?.protocol !== 'https:' && !plain) throw new OidcDistrust('The discovery document names no good addresses.')
  }
  return metadata as Metadata
}

type Form = Record<string, string>

/** The client's credential goes as the provider takes it. Source: RFC 6749, 2.3.1. */
function authenticated(settings: OidcConfig, metadata: Metadata, form: Form): { form: Form; headers: Form } {
  const { client_id, client_secret } = settings
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (!methods.includes('client_secret_basic')) return { form: { ...form, client_id, client_secret }, headers: {} }
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  const basic = Buffer.from(`${encoded(client_id)}:${encoded(client_secret)}`).toString('base64')
  return { form, headers: { authorization: `Basic ${basic}` } }
}

type Hosts = ReturnType<typeof openHosts>

/** One client for each host, that of the issuer and those its document names. */
function openHosts(issuer: string) {
  const clients = new Map<string, EngineClient>()
  const clientOf = (url: URL): EngineClient => {
    const made = clients.get(url.origin) ?? engineClient({ base_url: url.origin, ...LIMITS })
    clients.set(url.origin, made)
    return made
  }
  const call = (address: string, rest: Omit<Parameters<EngineClient['call']>[0], 'path'>): Promise<EngineReply> => {
    const url = new URL(address, issuer)
    return clientOf(url).call({ ...rest, path: url.pathname + url.search }, AbortSignal.timeout(CALL_MS))
  }
  return {
    get: (address: string, headers: Form = {}) => call(address, { method: 'GET', headers }),
    post(address: string, { form, headers }: { form: Form; headers: Form }) {
      const data = new URLSearchParams(form).toString()
      const body = { content_type: 'application/x-www-form-urlencoded', data }
      return call(address, { method: 'POST', headers, body })
    },
    close: async () => void (await Promise.all([...clients.values()].map((each) => each.close()))),
  }
}

const LIMITS = { timeout_ms: CALL_MS, reply_max_bytes: REPLY_BYTES_MAX }

/** Throws OidcDistrust unless the reply is a success and an object that has these members. */
function objectOf({ status, json }: EngineReply, ...members: string[]): Record<string, unknown> {
  if (status !== 200) throw new OidcDistrust(`The provider answered with status ${status}.`)
  const object = json as Record<string, unknown> | null | undefined
  if (typeof object === 'object' && object !== null && members.every((name) => object[name] !== undefined))
    return object
  throw new OidcDistrust('The provider answered with something else.')
}

function isOfOutbound(error: unknown): boolean {
  return error instanceof OidcDistrust || (error as Error).name === 'OutboundError'
}
