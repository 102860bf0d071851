import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import { unixSeconds } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { OIDC_PATH, stateCookie } from '../caller/cookie.ts'
import { requireSameOrigin } from '../caller/csrf.ts'
import { type Route, route } from '../caller/route.ts'
import { findInvitationsOf, type NamedInvitation } from '../invitations/store.ts'
import { beginSession, callerOf } from '../login/begin-session.ts'
import type { Identity } from '../open.ts'
import { AuthorizationResponse, ChooseInvitation, ConsoleSession, InvitationChoice } from '../schema.ts'
import { clearChoice, readInvitationChoice } from './invitation-choice.ts'
import type { OidcProvider } from './provider.ts'
import { finishByInvitation, finishOidcSignIn, OidcSignInError, startOidcSignIn } from './sign-in.ts'

/** The cookie holds the state of the sign-in, then the session. */
const REDIRECT_HEADERS = { 'cache-control': 'always', 'referrer-policy': 'always', 'set-cookie': 'sometimes' } as const

/** Signing in with the identity provider: two requests of a browser, each always answered with a redirect. */
export function oidcRoutes(identity: Identity): Route[] {
  const start = route({
    method: 'GET',
    path: OIDC_PATH,
    auth: 'none',
    redirects: true,
    headers: REDIRECT_HEADERS,
    summary: 'Go to the identity provider',
    description: 'The browser is redirected there, and comes back to the callback.',
    errors: ['unknown_url'],
    async handle(ctx, { reply }) {
      const provider = requireProvider(identity)
      return redirectTo(ctx, reply, async () => {
        const { url, set_cookie } = await startOidcSignIn(identity.login, provider, redirectUri(ctx))
        reply.header('set-cookie', set_cookie)
        return url
      })
    },
  })
  const finish = route({
    method: 'GET',
    path: `${OIDC_PATH}/callback`,
    auth: 'none',
    redirects: true,
    headers: REDIRECT_HEADERS,
    summary: 'Come back from the identity provider',
    description: 'Checks what the provider says and signs the person in.',
    query: AuthorizationResponse,
    errors: ['unknown_url'],
    async handle(ctx, { query, request, reply }) {
      const provider = requireProvider(identity)
      const { name, attributes } = stateCookie(identity.cookie())
      const clear_state = `${name}=; Max-Age=0; ${attributes}`
      return redirectTo(ctx, reply, async () => {
        const { user_agent } = callerOf(request)
        const call = { response: query, cookie: request.headers.cookie ?? '', user_agent }
        const signedIn = await finishOidcSignIn(identity.login, provider, { ...call, redirect_uri: redirectUri(ctx) })
        reply.header('set-cookie', clear_state)
        if ('choice' in signedIn) {
          reply.header('set-cookie', signedIn.choice)
          return `${ctx.site.public_url}/invitations/choose`
        }
        await beginSession(ctx, identity, { request, reply }, signedIn)
        return `${ctx.site.public_url}/`
      })
    },
  })
  return [start, finish, ...choiceRoutes(identity)]
}

/** For somebody who came back from the identity provider, is in no organization and is invited by several. */
function choiceRoutes(identity: Identity): Route[] {
  const list = route({
    method: 'GET',
    path: `${OIDC_PATH}/invitations`,
    auth: 'none',
    headers: { 'cache-control': 'always' },
    summary: 'List the invitations to choose from, after the identity provider',
    description: 'For a first sign-in of somebody whom several organizations invite.',
    response: InvitationChoice,
    errors: ['unknown_url', 'missing_api_key'],
    async handle(ctx, { request, reply }) {
      const { issuer } = requireProvider(identity)
      const { email } = readInvitationChoice(identity.login, issuer, request.headers.cookie ?? '')
      const invitations = await findInvitationsOf(ctx.db, { email, now: ctx.clock.now() })
      reply.header('cache-control', 'no-store')
      return { object: 'invitation_choice', email, invitations: invitations.map(choiceView) }
    },
  })
  const choose = route({
    method: 'POST',
    path: `${OIDC_PATH}/invitations`,
    auth: 'none',
    headers: { 'cache-control': 'always', 'set-cookie': 'always' },
    summary: 'Accept one of several invitations, after the identity provider',
    description: 'Signs the person in.',
    body: ChooseInvitation,
    response: ConsoleSession,
    errors: ['unknown_url', 'missing_api_key', 'not_found'],
    example: { invitation_id: 'inv_…' },
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const provider = requireProvider(identity)
      const { user_agent } = callerOf(request)
      const call = { ...body, cookie: request.headers.cookie ?? '', user_agent }
      const signedIn = await finishByInvitation(identity.login, provider, call)
      reply.header('set-cookie', clearChoice(identity.login))
      return beginSession(ctx, identity, { request, reply }, signedIn)
    },
  })
  return [list, choose]
}

function choiceView({ id, org_name, role, inviter_email, expires_at }: NamedInvitation) {
  return { id, organization: { name: org_name }, role, invited_by: inviter_email, expires_at: unixSeconds(expires_at) }
}

function requireProvider(identity: Identity): OidcProvider {
  const oidc = identity.oidc()
  if (oidc) return oidc
  throw new ApiError('unknown_url', 'No identity provider is configured. Sign in with email and password.')
}

function redirectUri({ site }: Pick<Context, 'site'>): string {
  return `${site.public_url}${OIDC_PATH}/callback`
}

/** Redirects to what `locate` returns, or to the sign-in page with the reason for a failure. */
async function redirectTo(ctx: Context, reply: FastifyReply, locate: () => Promise<string>): Promise<FastifyReply> {
  const url = await locate().catch((error: unknown) => {
    const problem = reasonOf(error)
    if (problem === null) throw error
    ctx.log.warn('oidc_refused', { code: problem, detail: (error as Error).message })
    return `${ctx.site.public_url}/sign-in?error=${problem}`
  })
  return reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(url, 302)
}

function reasonOf(error: unknown): string | null {
  if (error instanceof OidcSignInError) return error.reason
  return error instanceof ApiError && error.code === 'permission_denied' ? 'oidc_no_account' : null
}
