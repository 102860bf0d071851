import type { Context } from '../../context.ts'
import { addSeconds, unixSeconds } from '../../platform/clock.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { pageOf } from '../../platform/http/list.ts'
import { sessionEnd } from '../caller/authenticate.ts'
import { SESSION_IDLE_SECONDS } from '../caller/cookie.ts'
import { type Route, route } from '../caller/route.ts'
import { beginSession, callerOf } from '../login/begin-session.ts'
import { changePassword } from '../login/sign-in.ts'
import { deleteOwnSession, deleteSessionsOf, listSessions, type SessionRow } from '../login/store.ts'
import type { Identity } from '../open.ts'
import { rowPosition } from '../row-ids.ts'
import {
  ChangePassword,
  ChangeProfile,
  ConsoleSession,
  Deleted,
  IDENTITY_PAGE,
  List,
  type LoginSession,
  LoginSessionList,
  Profile,
  SessionsEnded,
} from '../schema.ts'
import { findLogins, findUser, type UserRow, updateName } from './store.ts'

/** A person's own profile, password and sessions. */
export function profileRoutes(identity: Identity): Route[] {
  return [readProfile, changeProfile, passwordRoute(identity), ...ownSessions(identity)]
}

const readProfile = route({
  method: 'GET',
  path: '/console/profile',
  auth: 'session',
  summary: 'Your own name, and how you sign in',
  description: 'Whether by a password, an identity provider or both.',
  response: Profile,
  handle: async (ctx, { principal }) => showProfile(ctx, principal.user_id),
})

const changeProfile = route({
  method: 'PATCH',
  path: '/console/profile',
  auth: 'session',
  summary: 'Change your own name',
  description: 'It is shown to the people of your organizations.',
  body: ChangeProfile,
  response: Profile,
  example: { name: 'Mika Mori' },
  async handle(ctx, { principal, body }) {
    const { user_id } = principal
    await updateName(ctx.db, { user_id, name: body.name, now: ctx.clock.now() })
    return showProfile(ctx, user_id)
  },
})

function passwordRoute(identity: Identity): Route {
  return route({
    method: 'POST',
    path: '/console/password',
    auth: 'session',
    summary: 'Change your password; every other session of yours ends',
    description: 'Needs the present password.',
    body: ChangePassword,
    response: ConsoleSession,
    headers: { 'set-cookie': 'always' },
    errors: ['conflict'],
    example: { current_password: 'a long password', new_password: 'another long password' },
    async handle(ctx, { principal, body, request, reply }) {
      const { user_id, org_id } = principal
      const signedIn = await changePassword(identity.login, { user_id, ...body, ...callerOf(request) })
      identity.callers.forget(`user:${user_id}`)
      return beginSession(ctx, identity, { request, reply }, signedIn, org_id)
    },
  })
}

function ownSessions({ callers }: Identity): Route[] {
  const list = route({
    method: 'GET',
    path: '/console/sessions',
    auth: 'session',
    summary: 'List the browsers you are signed in with',
    description: 'Each with the time of its last use.',
    query: List,
    response: LoginSessionList,
    async handle(ctx, { principal, query }) {
      const now = ctx.clock.now()
      const position = rowPosition('session', query, IDENTITY_PAGE)
      const going = { ...position, now, idle_since: addSeconds(now, -SESSION_IDLE_SECONDS) }
      const rows = await listSessions(ctx.db, principal.user_id, going)
      return pageOf(rows, position.limit, (row) => loginSessionView(row, principal.session_id))
    },
  })
  const end = route({
    method: 'DELETE',
    path: '/console/sessions/:id',
    auth: 'session',
    summary: 'End one of your sessions',
    description: 'That browser has to sign in again.',
    response: Deleted,
    async handle(ctx, { principal, params }) {
      const id = params.id!
      if (!(await deleteOwnSession(ctx.db, { id, user_id: principal.user_id }))) throw notFound('session')
      callers.forget(`session:${id}`)
      return { id, object: 'login_session', deleted: true }
    },
  })
  const endOthers = route({
    method: 'DELETE',
    path: '/console/sessions',
    auth: 'session',
    summary: 'End every session of yours but this one',
    description: 'The answer says how many there were.',
    response: SessionsEnded,
    async handle(ctx, { principal }) {
      const count = await deleteSessionsOf(ctx.db, principal.user_id, principal.session_id)
      callers.forget(`user:${principal.user_id}`)
      return { object: 'login_sessions_ended', count }
    },
  })
  return [list, end, endOthers]
}

async function showProfile(ctx: Context, user_id: string): Promise<Profile> {
  const [user, logins] = await Promise.all([findUser(ctx.db, user_id), findLogins(ctx.db, user_id)])
  if (!user) throw new ApiError('missing_api_key', 'This account has ended. Sign in to the console.')
  return profileView(user, logins)
}

function profileView(user: UserRow, logins: ReadonlyArray<{ password: string | null }>): Profile {
  const { id, email, name, two_factor_enabled: two_factor } = user
  const password = logins.some((each) => each.password !== null)
  const oidc = logins.some((each) => each.password === null)
  return { object: 'profile', id, email, name, password, oidc, two_factor }
}

function loginSessionView(row: Omit<SessionRow, 'token'>, current_id: string | null): LoginSession {
  return {
    id: row.id,
    object: 'login_session',
    current: row.id === current_id,
    organization_id: row.org_id,
    user_agent: row.user_agent || null,
    created_at: unixSeconds(row.created_at),
    last_used_at: unixSeconds(row.updated_at),
    expires_at: unixSeconds(sessionEnd({ last_use: row.updated_at, expires_at: row.expires_at })),
  }
}
