import { clearSessionToken } from '../caller/cookie.ts'
import { requireSameOrigin } from '../caller/csrf.ts'
import { type Endpoint, endpoint } from '../caller/endpoint.ts'
import type { Identity } from '../open.ts'
import { accept, previewInvitation } from '../people/invitations.ts'
import {
  AcceptInvitation,
  ConsoleSession,
  InvitationPreview,
  PreviewInvitation,
  SignedOut,
  SignIn,
  SignInAnswer,
  SwitchOrganization,
} from '../schema.ts'
import { invitationPreview } from '../views.ts'
import { answerSignIn, beginSession, callerOf, endSession, moveSession, showSession } from './begin-session.ts'
import { signIn } from './sign-in.ts'

/** Signing in and out, the present session, and the ways a session begins. */
export function sessionEndpoints(identity: Identity): Endpoint[] {
  return [
    signInEndpoint(identity),
    signOutEndpoint(identity),
    ...presentSession(identity),
    previewEndpoint,
    acceptEndpoint(identity),
  ]
}

function signInEndpoint(identity: Identity): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/console/auth/sign-in/email',
    auth: 'none',
    summary: 'Sign in to the console',
    body: SignIn,
    response: SignInAnswer,
    headers: { 'cache-control': 'always', 'set-cookie': 'always' },
    errors: ['invalid_api_key', 'rate_limit_exceeded'],
    example: { email: 'mika@example.com', password: 'a long password' },
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const signedIn = await signIn(identity.login, { ...body, ...callerOf(request) })
      return answerSignIn(ctx, identity, { request, reply }, signedIn)
    },
  })
}

function signOutEndpoint(identity: Identity): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/console/auth/sign-out',
    auth: 'none',
    summary: 'End this console session',
    response: SignedOut,
    headers: { 'set-cookie': 'always' },
    async handle(ctx, { request, reply }) {
      requireSameOrigin(request)
      await endSession(ctx, identity, request)
      reply.header('set-cookie', clearSessionToken(identity.cookie()))
      return { success: true }
    },
  })
}

function presentSession(identity: Identity): Endpoint[] {
  const show = endpoint({
    method: 'GET',
    path: '/console/session',
    auth: 'session',
    summary: 'Who is signed in, and in which organization',
    response: ConsoleSession,
    async handle(ctx, { principal, reply }) {
      return showSession(ctx, reply, principal)
    },
  })
  const change = endpoint({
    method: 'POST',
    path: '/console/session/organization',
    auth: 'session',
    summary: 'Switch this session to another organization of yours',
    body: SwitchOrganization,
    response: ConsoleSession,
    errors: ['not_found'],
    example: { organization_id: 'org_…' },
    async handle(ctx, { principal, body, reply }) {
      return moveSession(ctx, identity, reply, { ...principal, org_id: body.organization_id })
    },
  })
  return [show, change]
}

/** POST, because a token in a URL would be written to logs. */
const previewEndpoint = endpoint({
  method: 'POST',
  path: '/console/invitations/preview',
  auth: 'none',
  summary: 'What an invitation is to, for the person who holds its token',
  body: PreviewInvitation,
  response: InvitationPreview,
  headers: { 'cache-control': 'always' },
  errors: ['not_found'],
  example: { token: 'inv_…' },
  async handle(ctx, { body, request, reply }) {
    requireSameOrigin(request)
    reply.header('cache-control', 'no-store')
    return invitationPreview(await previewInvitation(ctx.db, { token: body.token, now: ctx.clock.now() }))
  },
})

function acceptEndpoint(identity: Identity): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/console/invitations/accept',
    auth: 'none',
    summary: 'Accept an invitation, as a new person or as the one who is signed in',
    body: AcceptInvitation,
    response: SignInAnswer,
    headers: { 'cache-control': 'always', 'set-cookie': 'sometimes' },
    errors: ['invalid_api_key', 'not_found', 'conflict', 'rate_limit_exceeded'],
    example: { token: 'inv_…', name: 'Noa', password: 'another long password' },
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const { cookie } = request.headers
      const present = cookie === undefined ? null : await identity.callers.session({ cookie })
      const { org_id, session } = await accept(identity.login, { ...body, ...callerOf(request) }, present)
      if (session && 'challenge' in session) return answerSignIn(ctx, identity, { request, reply }, session)
      if (session) return beginSession(ctx, identity, { request, reply }, session, org_id)
      return moveSession(ctx, identity, reply, { ...present!, org_id })
    },
  })
}
