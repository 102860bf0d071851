import { unixSeconds } from '../../platform/clock.ts'
import { pageOf } from '../../platform/http/list.ts'
import { requireSameOrigin } from '../caller/csrf.ts'
import { type Route, route } from '../caller/route.ts'
import { answerSignIn, beginSession, callerOf, moveSession } from '../login/begin-session.ts'
import { requireManager } from '../members/members.ts'
import type { Identity } from '../open.ts'
import { rowPosition } from '../row-ids.ts'
import {
  AcceptInvitation,
  CreatedInvitation,
  CreateInvitation,
  Deleted,
  IDENTITY_PAGE,
  type Invitation,
  InvitationList,
  InvitationPreview,
  List,
  PreviewInvitation,
  SignInAnswer,
} from '../schema.ts'
import { invite, joinByInvitation, previewInvitation, withdraw } from './invitations.ts'
import { type InvitationRow, listInvitations } from './store.ts'

/** Sending, listing, withdrawing and accepting invitations. */
export function invitationRoutes(identity: Identity): Route[] {
  return [listOpen, create, withdrawOpen, preview, acceptRoute(identity)]
}

const listOpen = route({
  method: 'GET',
  path: '/console/invitations',
  auth: 'session',
  summary: 'List open invitations',
  description: 'Those that were not accepted and have not expired.',
  query: List,
  response: InvitationList,
  async handle(ctx, { principal, query }) {
    requireManager(principal)
    const position = rowPosition('invitation', query, IDENTITY_PAGE)
    const rows = await listInvitations(ctx.db, principal.org_id, { ...position, now: ctx.clock.now() })
    return pageOf(rows, position.limit, invitationView)
  },
})

const create = route({
  method: 'POST',
  path: '/console/invitations',
  auth: 'session',
  summary: 'Invite a person; give them the address in the answer',
  description: 'No mail is sent. The address is shown in this answer and never again.',
  body: CreateInvitation,
  response: CreatedInvitation,
  errors: ['conflict'],
  example: { email: 'noa@example.com', role: 'member' },
  async handle(ctx, { principal, body, reply }) {
    const { token, ...row } = await invite(ctx.db, principal, { ...body, now: ctx.clock.now() })
    reply.header('cache-control', 'no-store')
    return { ...invitationView(row), token, accept_url: `${ctx.site.public_url}/invitations/accept#token=${token}` }
  },
})

const withdrawOpen = route({
  method: 'DELETE',
  path: '/console/invitations/:id',
  auth: 'session',
  summary: 'Withdraw an open invitation',
  description: 'Its address no longer works.',
  response: Deleted,
  async handle(ctx, { principal, params }) {
    const id = params.id!
    await withdraw(ctx.db, principal, { id, now: ctx.clock.now() })
    return { id, object: 'invitation', deleted: true }
  },
})

/** POST, because a token in a URL would be written to logs. */
const preview = route({
  method: 'POST',
  path: '/console/invitations/preview',
  auth: 'none',
  summary: 'Preview an invitation, for the person who holds its token',
  description: 'The organization, the role, and whether the address has an account.',
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

function acceptRoute(identity: Identity): Route {
  return route({
    method: 'POST',
    path: '/console/invitations/accept',
    auth: 'none',
    summary: 'Accept an invitation, as a new person or as the one who is signed in',
    description: 'Signs a new person in.',
    body: AcceptInvitation,
    response: SignInAnswer,
    headers: { 'cache-control': 'always', 'set-cookie': 'sometimes' },
    errors: ['invalid_api_key', 'not_found', 'conflict', 'rate_limit_exceeded'],
    example: { token: 'inv_…', name: 'Noa', password: 'another long password' },
    async handle(ctx, { body, request, reply }) {
      requireSameOrigin(request)
      const { cookie } = request.headers
      const present = cookie === undefined ? null : await identity.callers.session({ cookie })
      const { org_id, session } = await joinByInvitation(identity.login, { ...body, ...callerOf(request) }, present)
      if (session && 'challenge' in session) return answerSignIn(ctx, identity, { request, reply }, session)
      if (session) return beginSession(ctx, identity, { request, reply }, session, org_id)
      return moveSession(ctx, identity, reply, { ...present!, org_id })
    },
  })
}

function invitationView(row: InvitationRow): Invitation {
  return {
    id: row.id,
    object: 'invitation',
    email: row.email,
    role: row.role,
    status: row.status,
    invited_by: row.inviter_id,
    created_at: unixSeconds(row.created_at),
    expires_at: unixSeconds(row.expires_at),
  }
}

function invitationPreview(invitation: InvitationRow & { org_name: string; has_account: boolean }): InvitationPreview {
  const { org_name, email, role, expires_at, has_account } = invitation
  return {
    object: 'invitation_preview',
    organization: { name: org_name },
    email,
    role,
    expires_at: unixSeconds(expires_at),
    has_account,
  }
}
