import type { FastifyReply } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError } from '../platform/errors.ts'
import { beginSession, callerOf } from './begin-session.ts'
import { OIDC_PATH, stateCookie } from './cookie.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { beginOidc, endOidc, OidcRefusal } from './oidc.ts'
import type { OidcProvider } from './oidc-provider.ts'
import type { Identity } from './open.ts'
import { OidcAnswer } from './schema.ts'

/** The cookie holds the state of the sign-in, then the session. */
const REDIRECT_HEADERS = { 'cache-control': 'always', 'referrer-policy': 'always', 'set-cookie': 'sometimes' } as const

/** Signing in with the identity provider: two stops of a browser, which is sent on in every case. */
export function oidcEndpoints(identity: Identity): Endpoint[] {
  const begin = endpoint({
    method: 'GET',
    path: OIDC_PATH,
    auth: 'none',
    redirects: true,
    headers: REDIRECT_HEADERS,
    summary: 'Go to the identity provider',
    async handle(ctx, { reply }) {
      const provider = requireProvider(identity)
      return sendOn(ctx, reply, async () => {
        const { url, set_cookie } = await beginOidc(identity.login, provider, redirectUri(ctx))
        reply.header('set-cookie', set_cookie)
        return url
      })
    },
  })
  const end = endpoint({
    method: 'GET',
    path: `${OIDC_PATH}/callback`,
    auth: 'none',
    redirects: true,
    headers: REDIRECT_HEADERS,
    summary: 'Come back from the identity provider',
    query: OidcAnswer,
    async handle(ctx, { query, request, reply }) {
      const provider = requireProvider(identity)
      const { name, attributes } = stateCookie(identity.cookie())
      const end_state = `${name}=; Max-Age=0; ${attributes}`
      return sendOn(ctx, reply, async () => {
        const { user_agent } = callerOf(request)
        const call = { answer: query, cookie: request.headers.cookie ?? '', user_agent }
        const signedIn = await endOidc(identity.login, provider, { ...call, redirect_uri: redirectUri(ctx) })
        await beginSession(ctx, identity, { request, reply }, signedIn)
        reply.header('set-cookie', end_state)
        return `${ctx.site.public_url}/`
      })
    },
  })
  return [begin, end]
}

function requireProvider({ oidc }: Identity): OidcProvider {
  if (oidc) return oidc
  throw new ApiError('unknown_url', 'No identity provider is configured. Sign in with email and password.')
}

function redirectUri({ site }: Pick<Context, 'site'>): string {
  return `${site.public_url}${OIDC_PATH}/callback`
}

/** To where `go` says, or to the sign-in page with what went wrong. */
async function sendOn(ctx: Context, reply: FastifyReply, go: () => Promise<string>): Promise<FastifyReply> {
  const url = await go().catch((error: unknown) => {
    const problem = reasonOf(error)
    if (problem === null) throw error
    ctx.log.warn('oidc_refused', { code: problem, detail: (error as Error).message })
    return `${ctx.site.public_url}/sign-in?error=${problem}`
  })
  return reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(url, 302)
}

function reasonOf(error: unknown): string | null {
  if (error instanceof OidcRefusal) return error.reason
  return error instanceof ApiError && error.code === 'permission_denied' ? 'oidc_no_account' : null
}
