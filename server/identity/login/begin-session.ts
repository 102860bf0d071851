import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { unixSeconds } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { addressOf } from '../../platform/http/client-address.ts'
import { sessionEnd } from '../caller/authenticate.ts'
import { hashToken, readSessionToken } from '../caller/cookie.ts'
import type { Principal } from '../caller/principal.ts'
import type { Identity } from '../open.ts'
import { findUser, organizationsOf } from '../people/store.ts'
import type { ConsoleSession, SecondFactorRequired } from '../schema.ts'
import type { Caller, SecondFactorDue, SignedIn } from './sign-in.ts'
import { deleteSession, findSession, findSessionEnd, switchSession } from './store.ts'

export type HttpCall = { request: FastifyRequest; reply: FastifyReply }

/** The answer to a correct password: the session, or that the second factor is required. */
export async function answerSignIn(
  ctx: Context,
  identity: Identity,
  call: HttpCall,
  signedIn: SignedIn | SecondFactorDue,
): Promise<ConsoleSession | SecondFactorRequired> {
  if (!('challenge' in signedIn)) return beginSession(ctx, identity, call, signedIn)
  call.reply.header('set-cookie', signedIn.challenge).header('cache-control', 'no-store')
  return { object: 'two_factor_required' }
}

/** Gives the browser its new session, in `org_id` or the first organization of the person. What it had before ends. */
export async function beginSession(
  ctx: Context,
  identity: Identity,
  call: HttpCall,
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
export async function moveSession(
  ctx: Context,
  identity: Identity,
  reply: FastifyReply,
  to: At,
): Promise<ConsoleSession> {
  const { user_id, org_id } = to
  const id = to.session_id!
  if (!(await switchSession(ctx.db, { id, user_id, org_id }))) throw notFound('organization')
  identity.callers.forget(`session:${id}`)
  return showSession(ctx, reply, to)
}

export async function showSession(ctx: Context, reply: FastifyReply, at: At): Promise<ConsoleSession> {
  const { user_id, org_id } = at
  const view = await sessionView(ctx.db, { session_id: at.session_id!, user_id, org_id, now: ctx.clock.now() })
  if (!view) throw new ApiError('missing_api_key', 'This session has ended. Sign in to the console.')
  reply.header('cache-control', 'no-store')
  return view
}

/** Ends the session whose cookie the request carries, if it is one of ours. */
export async function endSession(ctx: Context, identity: Identity, request: FastifyRequest): Promise<void> {
  const token = readSessionToken(request.headers.cookie ?? '', identity.cookie())
  if (token === null) return
  const token_hash = hashToken(token)
  const session = await findSession(ctx.db, token_hash)
  await deleteSession(ctx.db, token_hash)
  if (session) identity.callers.forget(`session:${session.id}`)
}

/** Where a request comes from. */
export function callerOf(request: FastifyRequest): Caller {
  return { address: addressOf(request), user_agent: request.headers['user-agent'] ?? '' }
}

/** What the console shows of a session that was used just now. Null when it has ended meanwhile. */
async function sessionView(
  db: Db,
  session: { session_id: string; user_id: string; org_id: string; now: Date },
): Promise<ConsoleSession | null> {
  const [user, organizations, end] = await Promise.all([
    findUser(db, session.user_id),
    organizationsOf(db, session.user_id),
    findSessionEnd(db, session.session_id),
  ])
  const organization = organizations.find(({ id }) => id === session.org_id)
  if (!user || !organization || !end) return null
  return {
    object: 'console_session',
    user: { id: user.id, email: user.email, name: user.name },
    organization,
    organizations,
    expires_at: unixSeconds(sessionEnd({ last_use: session.now, expires_at: end })),
  }
}
