import { notFound } from '../platform/errors.ts'
import { pageOf, positionOf } from '../platform/http/list.ts'
import { type Endpoint, endpoint } from './caller/endpoint.ts'
import { createKey, keyHolder, revokeOwnKey } from './keys/api-keys.ts'
import { listKeys } from './keys/store.ts'
import { sessionEndpoints } from './login/routes.ts'
import { oidcEndpoints } from './oidc/routes.ts'
import type { Identity } from './open.ts'
import { invite } from './people/invitations.ts'
import { changeRole, removeMember, requireManager } from './people/members.ts'
import { profileEndpoints } from './people/profile-routes.ts'
import { cancelInvitation, listInvitations, listMembers } from './people/store-members.ts'
import { rowPosition } from './row-ids.ts'
import {
  ApiKeyList,
  ChangeRole,
  CreatedApiKey,
  CreatedInvitation,
  CreateInvitation,
  CreateKey,
  Deleted,
  InvitationList,
  List,
  Member,
  MemberList,
  PAGE,
} from './schema.ts'
import { twoFactorEndpoints } from './two-factor/routes.ts'
import { invitationView, keyView, memberView } from './views.ts'

/** Everything under `/console` that concerns people and keys. Source: docs/api/console.md. */
export function identityEndpoints(identity: Identity): Endpoint[] {
  return [
    ...sessionEndpoints(identity),
    ...profileEndpoints(identity),
    ...twoFactorEndpoints(identity),
    ...oidcEndpoints(identity),
    ...keyEndpoints(identity),
    ...memberEndpoints(identity),
    ...invitationEndpoints,
  ]
}

function keyEndpoints({ callers }: Identity): Endpoint[] {
  const list = endpoint({
    method: 'GET',
    path: '/console/api_keys',
    auth: 'session',
    summary: 'List API keys: your own, and everybody’s for owners and admins',
    query: List,
    response: ApiKeyList,
    async handle(ctx, { principal, query }) {
      const position = positionOf('key', query, PAGE)
      const rows = await listKeys(ctx.db, { org_id: principal.org_id, user_id: keyHolder(principal) }, position)
      return pageOf(rows, position.limit, keyView)
    },
  })
  const create = endpoint({
    method: 'POST',
    path: '/console/api_keys',
    auth: 'session',
    summary: 'Make an API key for yourself in this organization',
    body: CreateKey,
    response: CreatedApiKey,
    example: { name: 'laptop' },
    async handle(ctx, { principal, body, reply }) {
      const { org_id, user_id } = principal
      const prefix = ctx.config.api_key_prefix
      const made = await createKey(ctx.db, { org_id, user_id, name: body.name, prefix, now: ctx.clock.now() })
      reply.header('cache-control', 'no-store')
      return { ...keyView(made), key: made.key }
    },
  })
  const revoke = endpoint({
    method: 'DELETE',
    path: '/console/api_keys/:id',
    auth: 'session',
    summary: 'Revoke an API key for good',
    response: Deleted,
    async handle(ctx, { principal, params }) {
      const id = params.id!
      await revokeOwnKey(ctx.db, principal, { id, now: ctx.clock.now() })
      callers.forget(`key:${id}`)
      return { id, object: 'api_key', deleted: true }
    },
  })
  return [list, create, revoke]
}

function memberEndpoints({ callers }: Identity): Endpoint[] {
  const list = endpoint({
    method: 'GET',
    path: '/console/members',
    auth: 'session',
    summary: 'List the people of this organization',
    query: List,
    response: MemberList,
    async handle(ctx, { principal, query }) {
      requireManager(principal)
      const position = positionOf('user', query, PAGE)
      return pageOf(await listMembers(ctx.db, principal.org_id, position), position.limit, memberView)
    },
  })
  const change = endpoint({
    method: 'PATCH',
    path: '/console/members/:user_id',
    auth: 'session',
    summary: 'Give a person another role',
    body: ChangeRole,
    response: Member,
    errors: ['conflict'],
    example: { role: 'admin' },
    async handle(ctx, { principal, params, body }) {
      const user_id = params.user_id!
      const member = await changeRole(ctx.db, principal, { user_id, role: body.role })
      callers.forget(`user:${user_id}`)
      return memberView(member)
    },
  })
  const remove = endpoint({
    method: 'DELETE',
    path: '/console/members/:user_id',
    auth: 'session',
    summary: 'Remove a member from this organization',
    response: Deleted,
    errors: ['conflict'],
    async handle(ctx, { principal, params }) {
      const id = params.user_id!
      await removeMember(ctx.db, principal, { user_id: id, now: ctx.clock.now() })
      callers.forget(`user:${id}`)
      return { id, object: 'member', deleted: true }
    },
  })
  return [list, change, remove]
}

const invitationEndpoints: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/console/invitations',
    auth: 'session',
    summary: 'List open invitations',
    query: List,
    response: InvitationList,
    async handle(ctx, { principal, query }) {
      requireManager(principal)
      const position = rowPosition('invitation', query, PAGE)
      const rows = await listInvitations(ctx.db, principal.org_id, { ...position, now: ctx.clock.now() })
      return pageOf(rows, position.limit, invitationView)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/console/invitations',
    auth: 'session',
    summary: 'Invite a person; hand the address in the answer over to them',
    body: CreateInvitation,
    response: CreatedInvitation,
    errors: ['conflict'],
    example: { email: 'noa@example.com', role: 'member' },
    async handle(ctx, { principal, body, reply }) {
      const { token, ...row } = await invite(ctx.db, principal, { ...body, now: ctx.clock.now() })
      reply.header('cache-control', 'no-store')
      return { ...invitationView(row), token, accept_url: `${ctx.site.public_url}/invitations/accept#token=${token}` }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/console/invitations/:id',
    auth: 'session',
    summary: 'Withdraw an open invitation',
    response: Deleted,
    async handle(ctx, { principal, params }) {
      requireManager(principal)
      const id = params.id!
      if (!(await cancelInvitation(ctx.db, { org_id: principal.org_id, id }))) throw notFound('invitation')
      return { id, object: 'invitation', deleted: true }
    },
  }),
]
