import * as oauth from 'oauth4webapi'
import type { OidcConfig } from '../../config/config.ts'
import { type Clock, systemClock, unixSeconds } from '../../platform/clock.ts'
import { type EngineClient, engineClient } from '../../platform/outbound/client.ts'
import { OutboundError } from '../../platform/outbound/error.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { AuthorizationResponse } from '../schema.ts'

/** The person an ID token names. `verified_email` is null unless the provider vouches for it. */
export type OidcIdentity = { subject: string; verified_email: string | null; name: string | null }

/** A reply of the provider failed a check. The message is fixed text: it holds no token, code or secret. */
export class InvalidOidcReply extends Error {
  override name = 'InvalidOidcReply'
}

export type OidcProvider = {
  issuer: string
  /** Where the browser is sent to. Throws OutboundError or InvalidOidcReply. */
  authorizationUrl(request: {
    state: string
    nonce: string
    code_challenge: string
    redirect_uri: string
  }): Promise<string>
  /**
   * Checks the response, exchanges its code for an ID token and checks that in full. Throws OutboundError, InvalidOidcReply, or the
   * library's AuthorizationResponseError when the provider sent an error instead of a code.
   */
  authenticate(
    response: AuthorizationResponse,
    expected: { state: string; nonce: string; code_verifier: string; redirect_uri: string },
  ): Promise<OidcIdentity>
  close(): Promise<void>
}

/** The discovery document is read again after this long. */
const METADATA_SECONDS = 3600
const CALL_MS = 10_000
const REPLY_BYTES_MAX = 1024 * 1024
/** Clocks differ. */
const TOLERANCE_SECONDS = 60
/** An ID token is used right after it was issued. */
const TOKEN_AGE_SECONDS = 600
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']

/**
 * A client of one OpenID Connect provider, and of the hosts its discovery document names.
 * Source: OpenID Connect Core 1.0, 3.1; Discovery 1.0, 4; RFC 7636; RFC 9207.
 */
export function openOidcProvider(settings: OidcConfig, { clock }: { clock: Clock }): OidcProvider {
  const { issuer, client_id, scopes } = settings
  const http = openHttp(issuer)
  const client: oauth.Client = {
    client_id,
    [oauth.clockTolerance]: TOLERANCE_SECONDS,
    /** The library reads the system's clock. */
    get [oauth.clockSkew]() {
      return unixSeconds(clock.now()) - unixSeconds(systemClock.now())
    },
  }
  let cached: { metadata: Promise<oauth.AuthorizationServer>; until: number } | null = null

  const discover = (): Promise<oauth.AuthorizationServer> => {
    if (cached && performance.now() < cached.until) return cached.metadata
    const metadata = readMetadata(issuer, http.options)
    cached = { metadata, until: performance.now() + METADATA_SECONDS * 1000 }
    metadata.catch(() => {
      cached = null
    })
    return metadata
  }

  return {
    issuer,
    authorizationUrl: (request) =>
      checked(async () => {
        const url = new URL((await discover()).authorization_endpoint!)
        const query = { response_type: 'code', client_id, scope: scopes.join(' '), code_challenge_method: 'S256' }
        for (const [name, value] of Object.entries({ ...query, ...request })) url.searchParams.set(name, value)
        return url.href
      }),
    authenticate: (response, { state, nonce, code_verifier, redirect_uri }) =>
      checked(async () => {
        // The library caches keys by this object: a new one each time, so that a withdrawn key counts no longer.
        const server = { ...(await discover()) }
        const parameters = oauth.validateAuthResponse(server, client, new URLSearchParams(response), state)
        const auth = clientAuth(settings, server)
        const grant = [server, client, auth, parameters, redirect_uri, code_verifier, http.options] as const
        const reply = await oauth.authorizationCodeGrantRequest(...grant)
        const requirements = { expectedNonce: nonce, requireIdToken: true }
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, reply, requirements)
        await oauth.validateApplicationLevelSignature(server, reply, http.options)
        const claims = oauth.getValidatedIdTokenClaims(tokens)!
        checkClaims(claims, { client_id, now: unixSeconds(clock.now()) })
        if (claims.email !== undefined || !server.userinfo_endpoint) return identityOf(claims)
        const userInfo = await oauth.userInfoRequest(server, client, tokens.access_token, http.options)
        return identityOf(await oauth.processUserInfoResponse(server, client, claims.sub, userInfo))
      }),
    close: () => http.close(),
  }
}

/** Throws InvalidOidcReply for what the library leaves to its caller: the token's age, its party alone, a subject that can be stored. */
function checkClaims({ iat, azp, sub }: oauth.IDToken, own: { client_id: string; now: number }): void {
  const age_seconds = own.now - iat
  if (age_seconds > TOKEN_AGE_SECONDS + TOLERANCE_SECONDS || age_seconds < -TOLERANCE_SECONDS)
    throw new InvalidOidcReply('The ID token was not issued just now.')
  if (azp !== undefined && azp !== own.client_id)
    throw new InvalidOidcReply('The ID token was issued to another client.')
  if (sub === '' || sub.length > 255 || hasUnstorableText(sub))
    throw new InvalidOidcReply('The subject of the ID token is empty, too long or cannot be stored.')
}

function identityOf({ sub, email, email_verified, name }: oauth.IDToken | oauth.UserInfoResponse): OidcIdentity {
  const vouched = email_verified === true || email_verified === 'true'
  return {
    subject: sub,
    verified_email: vouched && typeof email === 'string' ? email : null,
    name: typeof name === 'string' && !hasUnstorableText(name) ? name.trim().slice(0, 100) || null : null,
  }
}

async function readMetadata(issuer: string, options: HttpOptions): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer)
  const metadata = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options))
  // The library compares normalized URLs.
  if (metadata.issuer !== issuer) throw new InvalidOidcReply('The discovery document is of another issuer.')
  const { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint = token_endpoint } = metadata
  for (const each of [authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint]) {
    const endpoint = URL.parse(String(each))
    const is_own_http = endpoint?.protocol === 'http:' && endpoint.origin === url.origin
    if (endpoint?.protocol !== 'https:' && !is_own_http)
      throw new InvalidOidcReply('An endpoint of the discovery document is missing or not HTTPS.')
  }
  // Ours decide, not what the provider offers. User information as a JWT is refused: its signature would not be checked.
  return {
    ...metadata,
    id_token_signing_alg_values_supported: ALGORITHMS,
    userinfo_signing_alg_values_supported: [],
  }
}

/**
 * Basic authentication is not left to the library, which also encodes `-`, `_` and `.`: providers that do not decode refuse that.
 * Source: RFC 6749, 2.3.1.
 */
function clientAuth({ client_secret }: OidcConfig, server: oauth.AuthorizationServer): oauth.ClientAuth {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (!methods.includes('client_secret_basic')) return oauth.ClientSecretPost(client_secret)
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return (_server, { client_id }, _body, headers) =>
    headers.set('authorization', `Basic ${btoa(`${encode(client_id)}:${encode(client_secret)}`)}`)
}

type HttpOptions = ReturnType<typeof openHttp>['options']

/** Our outgoing client as the library's `fetch`: one for each host, that of the issuer and those its document names. */
function openHttp(issuer: string) {
  const clients = new Map<string, EngineClient>()
  const clientOf = (origin: string): EngineClient => {
    const limits = { timeout_ms: CALL_MS, reply_max_bytes: REPLY_BYTES_MAX }
    const client = clients.get(origin) ?? engineClient({ base_url: origin, ...limits })
    clients.set(origin, client)
    return client
  }
  const guardedFetch = async (
    address: string,
    { method, headers, body }: oauth.CustomFetchOptions<'GET' | 'POST', URLSearchParams | undefined>,
  ): Promise<Response> => {
    const { origin, pathname, search } = new URL(address)
    const form = body && { content_type: 'application/x-www-form-urlencoded', data: body.toString() }
    const call = { method, path: pathname + search, headers, ...(form && { body: form }) }
    const reply = await clientOf(origin).call(call, AbortSignal.timeout(CALL_MS))
    const fields = Object.entries(reply.headers).map(([name, value]) => [name, String(value)] as [string, string])
    return new Response(reply.text || null, { status: reply.status, headers: fields })
  }
  return {
    options: {
      [oauth.customFetch]: guardedFetch,
      [oauth.allowInsecureRequests]: new URL(issuer).protocol === 'http:',
      headers: { 'user-agent': 'kinora' },
    },
    close: async () => void (await Promise.all([...clients.values()].map((each) => each.close()))),
  }
}

/** Errors of the library that have a fixed text. */
const FIXED = [
  oauth.OperationProcessingError,
  oauth.UnsupportedOperationError,
  oauth.ResponseBodyError,
  oauth.WWWAuthenticateChallengeError,
]

/** What is thrown while replies are read, other than these three, is taken for a fault in a reply. */
async function checked<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const passed_on = [OutboundError, InvalidOidcReply, oauth.AuthorizationResponseError]
    if (passed_on.some((each) => error instanceof each)) throw error
    const { name, message, code = name, cause, ...rest } = error as Error & { code?: string | number; status?: number }
    const status = rest.status ?? (cause as Partial<Response> | undefined)?.status
    const text = FIXED.some((each) => error instanceof each) ? message : 'unreadable'
    throw new InvalidOidcReply(`The provider's reply is invalid: ${text} (${status ?? code}).`)
  }
}
