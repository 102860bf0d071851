import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { hashToken, readSessionToken } from './cookie.ts'
import { requireSameOrigin } from './csrf.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { accept } from './invitations.ts'
import { changePassword, type SignedIn, signIn } from './login.ts'
import type { Identity } from './open.ts'
import type { Principal } from './principal.ts'
import { AcceptInvitation, ChangePassword, ConsoleSession, SignedOut, SignIn, SwitchOrganization } from './schema.ts'
import { deleteSession, findSession, switchSession } from './store-sessions.ts'
import { sessionView } from './views.ts'

/** Signing in and out, the present session, and the ways a session begins. */
export function sessionEndpoints(identity: Identity): Endpoint[] {
  return [signInEndpoint(identity), signOutEndpoint(identity), ...presentSession(identity), acceptEndpoint(identity)]
}

function signInEndpoint(identity: Identity): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/console/auth/sign-in/email',
    auth: 'none',
    summary: 'Sign in to the console',
    body: SignIn,
    response: ConsoleSession,
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const signedIn = await signIn(identity.login, { ...body, ...callerOf(request) })
      return beginSession(ctx, identity, { request, reply }, signedIn)
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
    async handle(ctx, { request, reply }) {
      requireSameOrigin(request)
      await endSession(ctx, identity, request)
      const { name, attributes } = identity.cookie()
      reply.clearCookie(name, attributes)
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
    async handle(ctx, { principal, body, reply }) {
      return moveSession(ctx, identity, reply, { ...principal, org_id: body.organization_id })
    },
  })
  const password = endpoint({
    method: 'POST',
    path: '/console/password',
    auth: 'session',
    summary: 'Change your password; every other session of yours ends',
    body: ChangePassword,
    response: ConsoleSession,
    async handle(ctx, { principal, body, request, reply }) {
      const { user_id, org_id } = principal
      const signedIn = await changePassword(identity.login, { user_id, ...body, ...callerOf(request) })
      identity.callers.forget(`user:${user_id}`)
      return beginSession(ctx, identity, { request, reply }, signedIn, org_id)
    },
  })
  return [show, change, password]
}

function acceptEndpoint(identity: Identity): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/console/invitations/accept',
    auth: 'none',
    summary: 'Accept an invitation, as a new person or as the one who is signed in',
    body: AcceptInvitation,
    response: ConsoleSession,
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const { cookie } = request.headers
      const present = cookie === undefined ? null : await identity.callers.session({ cookie })
      const { org_id, session } = await accept(identity.login, { ...body, ...callerOf(request) }, present)
      if (session) return beginSession(ctx, identity, { request, reply }, session, org_id)
      return moveSession(ctx, identity, reply, { ...present!, org_id })
    },
  })
}

/** Gives the browser its new session, in `org_id` or the first organization of the person. What it had before ends. */
async function beginSession(
  ctx: Context,
  identity: Identity,
  call: { request: FastifyRequest; reply: FastifyReply },
  signedIn: SignedIn,
  org_id?: string,
): Promise<ConsoleSession> {
  await endSession(ctx, identity, call.request)
  const session = await findSession(ctx.db, signedIn.token_hash)
  const target = org_id ?? session?.org_id
  if (!session || !target) {
    await deleteSession(ctx.db, signedIn.token_hash)
    throw new ApiError('permission_denied', 'You belong to no organization. Ask an owner to invite you.')
  }
  call.reply.header('set-cookie', signedIn.set_cookie)
  const at = { session_id: session.id, user_id: session.user_id, org_id: target }
  return target === session.org_id ? showSession(ctx, call.reply, at) : moveSession(ctx, identity, call.reply, at)
}

type At = Pick<Principal, 'session_id' | 'user_id' | 'org_id'>

/** Throws ApiError `not_found` when the person is not a member there. */
async function moveSession(ctx: Context, identity: Identity, reply: FastifyReply, to: At): Promise<ConsoleSession> {
  const { user_id, org_id } = to
  const id = to.session_id!
  if (!(await switchSession(ctx.db, { id, user_id, org_id }))) throw notFound('organization')
  identity.callers.forget(`session:${id}`)
  return showSession(ctx, reply, to)
}

async function showSession(ctx: Context, reply: FastifyReply, at: At): Promise<ConsoleSession> {
  const { user_id, org_id } = at
  const view = await sessionView(ctx.db, { session_id: at.session_id!, user_id, org_id, now: ctx.clock.now() })
  if (!view) throw new ApiError('missing_api_key', 'This session has ended. Sign in to the console.')
  reply.header('cache-control', 'no-store')
  return view
}

/** Ends the session whose cookie the request carries, if it is one of ours. */
async function endSession(ctx: Context, identity: Identity, request: FastifyRequest): Promise<void> {
  const token = readSessionToken(request.headers.cookie ?? '', identity.cookie())
  if (token === null) return
  const token_hash = hashToken(token)
  const session = await findSession(ctx.db, token_hash)
  await deleteSession(ctx.db, token_hash)
  if (session) identity.callers.forget(`session:${session.id}`)
}

function callerOf(request: FastifyRequest): { address: string; user_agent: string } {
  return { address: request.ip, user_agent: request.headers['user-agent'] ?? '' }
}
