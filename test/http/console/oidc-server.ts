import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { OidcConfig } from '../../../server/config/config.ts'
import { close, listen } from '../../support/listen.ts'

type Claims = Record<string, unknown>
type Algorithm = 'RS256' | 'ES256' | 'EdDSA' | 'HS256' | 'none'

/** What the provider does; every hostile variant is a change of this. */
export type Conduct = {
  /** Who signs in. */
  person: Claims
  algorithm: Algorithm
  /** Laid over the claims of the next ID tokens. */
  claims: Claims
  header: Claims
  /** Changes a finished token. */
  token: (token: string) => string | undefined
  metadata: Claims
  /** The reply of the user information, instead of claims in the token; a string is sent as a JWT. */
  userinfo: Claims | string | null
  /** Keys, by their `kid`, that the provider no longer publishes. */
  withdrawn: string[]
  /** Answers instead of the path's own, by path. */
  status: Record<string, number>
}

export type OidcServer = Awaited<ReturnType<typeof startOidcServer>>

const CLIENT = { client_id: 'kinora', client_secret: 's3cret-_./+ %&' }

/** An OpenID Connect provider on a real socket, as strict as a good one: PKCE, the client's credential, each code once. */
export async function startOidcServer({ now }: { now: () => Date }) {
  const keys = makeKeys()
  const conduct: Conduct = plainConduct()
  const requests: string[] = []
  const credentials: string[] = []
  const codes = new Map<string, URLSearchParams>()
  let issuer = ''

  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, issuer)
    requests.push(url.pathname)
    const [status, body] = conduct.status[url.pathname]
      ? [conduct.status[url.pathname]!, { error: 'as scripted' }]
      : await answer(request, url.pathname)
    const jwt = typeof body === 'string'
    response.writeHead(status, { 'content-type': jwt ? 'application/jwt' : 'application/json' })
    response.end(jwt ? body : JSON.stringify(body))
  })

  async function answer(request: IncomingMessage, path: string): Promise<[number, unknown]> {
    if (path === '/.well-known/openid-configuration') return [200, metadata()]
    if (path === '/jwks') return [200, { keys: published() }]
    if (path === '/userinfo' && conduct.userinfo) return [200, conduct.userinfo]
    if (path === '/token') return exchange(request)
    return [404, {}]
  }

  const published = () =>
    Object.entries(keys).flatMap(([kid, { jwk }]) => (conduct.withdrawn.includes(kid) ? [] : [jwk]))

  function metadata(): Claims {
    const at = (path: string) => issuer + path
    const endpoints = { authorization_endpoint: at('/authorize?tenant=1'), token_endpoint: at('/token') }
    const userinfo = conduct.userinfo ? { userinfo_endpoint: at('/userinfo') } : {}
    return { issuer, ...endpoints, jwks_uri: at('/jwks'), ...userinfo, ...conduct.metadata }
  }

  async function exchange(request: IncomingMessage): Promise<[number, unknown]> {
    const form = new URLSearchParams((await request.toArray()).join(''))
    const asked = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (basic !== undefined) credentials.push(Buffer.from(basic, 'base64').toString())
    const good =
      asked &&
      isOurClient(request, form) &&
      form.get('grant_type') === 'authorization_code' &&
      form.get('redirect_uri') === asked.get('redirect_uri') &&
      challenge === asked.get('code_challenge')
    if (!good) return [400, { error: 'invalid_grant' }]
    return [200, { access_token: 'opaque', token_type: 'Bearer', id_token: idToken(asked.get('nonce')!) }]
  }

  function idToken(nonce: string): string | undefined {
    const at = Math.floor(now().getTime() / 1000)
    const own = { iss: issuer, aud: CLIENT.client_id, iat: at, exp: at + 300, nonce }
    const inToken = conduct.userinfo ? { sub: conduct.person.sub } : conduct.person
    const { algorithm } = conduct
    const header = { alg: algorithm, kid: algorithm, typ: 'JWT', ...conduct.header }
    const text = `${encode(header)}.${encode({ ...own, ...inToken, ...conduct.claims })}`
    return conduct.token(`${text}.${signature(algorithm, text, keys)}`)
  }

  issuer = `http://127.0.0.1:${await listen(server)}`
  const config: OidcConfig = { name: 'Acme', issuer, ...CLIENT, scopes: ['openid', 'email', 'profile'] }
  return {
    config,
    conduct,
    /** Paths that were asked for. */
    requests,
    /** What came in the header for Basic authentication, without base64. */
    credentials,
    /** Takes back every change of conduct. */
    behave: () => void Object.assign(conduct, plainConduct()),
    /** What the provider's own page does once the person has signed in there: the URL that the browser is sent back to. */
    authorize(url: string): URL {
      const asked = new URL(url).searchParams
      const code = randomBytes(16).toString('hex')
      codes.set(code, asked)
      const back = new URL(asked.get('redirect_uri')!)
      back.searchParams.set('code', code)
      back.searchParams.set('state', asked.get('state')!)
      return back
    },
    close: () => close(server),
  }
}

function plainConduct(): Conduct {
  const person = { sub: 'nobody', email: 'nobody@example.com', email_verified: true }
  const plain = { claims: {}, header: {}, metadata: {}, status: {}, userinfo: null, withdrawn: [] }
  return { person, algorithm: 'RS256', ...plain, token: (token) => token }
}

type Keys = Record<'RS256' | 'ES256' | 'EdDSA', { key: KeyObject; jwk: Claims }>

function makeKeys(): Keys {
  const made = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: generateKeyPairSync('ed25519'),
  }
  const entries = Object.entries(made).map(([alg, { privateKey, publicKey }]) => {
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: alg, alg, use: 'sig' }
    return [alg, { key: privateKey, jwk }]
  })
  return Object.fromEntries(entries)
}

/** `HS256` signs with the public RSA key, as an attacker does who hopes that it is taken for a secret. */
function signature(algorithm: Algorithm, text: string, keys: Keys): string {
  const data = Buffer.from(text)
  if (algorithm === 'none') return ''
  if (algorithm === 'HS256')
    return createHmac('sha256', JSON.stringify(keys.RS256.jwk)).update(data).digest('base64url')
  const { key } = keys[algorithm]
  if (algorithm === 'EdDSA') return sign(null, data, key).toString('base64url')
  return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
}

function isOurClient(request: IncomingMessage, form: URLSearchParams): boolean {
  const { client_id, client_secret } = CLIENT
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (basic === undefined) return form.get('client_id') === client_id && form.get('client_secret') === client_secret
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':')
  const decode = (text: string) => new URLSearchParams(`x=${text}`).get('x')
  return decode(id) === client_id && decode(secret) === client_secret
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
