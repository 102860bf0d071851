import { clearSessionToken } from '../caller/cookie.ts'
import { requireSameOrigin } from '../caller/csrf.ts'
import { type Route, route } from '../caller/route.ts'
import type { Identity } from '../open.ts'
import { ConsoleSession, SignedOut, SignIn, SignInAnswer, SwitchOrganization } from '../schema.ts'
import { answerSignIn, callerOf, endSession, moveSession, showSession } from './begin-session.ts'
import { signIn } from './sign-in.ts'

/** Signing in and out, and the current session. */
export function sessionRoutes(identity: Identity): Route[] {
  return [signInRoute(identity), signOutRoute(identity), ...presentSession(identity)]
}

function signInRoute(identity: Identity): Route {
  return route({
    method: 'POST',
    path: '/console/auth/sign-in/email',
    auth: 'none',
    summary: 'Sign in to the console',
    description: 'Sets the session cookie, or asks for the second factor where it is on. Failed attempts are limited.',
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

function signOutRoute(identity: Identity): Route {
  return route({
    method: 'POST',
    path: '/console/auth/sign-out',
    auth: 'none',
    summary: 'End this console session',
    description: 'Clears the session cookie. Other sessions of yours go on.',
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

function presentSession(identity: Identity): Route[] {
  const show = route({
    method: 'GET',
    path: '/console/session',
    auth: 'session',
    summary: 'Who is signed in, and in which organization',
    description: 'With the other organizations the person belongs to.',
    response: ConsoleSession,
    async handle(ctx, { principal, reply }) {
      return showSession(ctx, reply, principal)
    },
  })
  const change = route({
    method: 'POST',
    path: '/console/session/organization',
    auth: 'session',
    summary: 'Switch this session to another organization of yours',
    description: 'Later calls of this session act in that organization.',
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
