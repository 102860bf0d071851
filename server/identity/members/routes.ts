import { unixSeconds } from '../../platform/clock.ts'
import { pageOf, positionOf } from '../../platform/http/list.ts'
import { type Route, route } from '../caller/route.ts'
import type { Identity } from '../open.ts'
import { ChangeRole, Deleted, IDENTITY_PAGE, List, Member, MemberList } from '../schema.ts'
import { changeRole, removeMember, requireManager } from './members.ts'
import { listMembers, type MemberFacts } from './store.ts'

/** The people of an organization and their roles. */
export function memberRoutes({ callers }: Identity): Route[] {
  const list = route({
    method: 'GET',
    path: '/console/members',
    auth: 'session',
    summary: 'List the people of this organization',
    description: 'Each with their role.',
    query: List,
    response: MemberList,
    async handle(ctx, { principal, query }) {
      requireManager(principal)
      const position = positionOf('user', query, IDENTITY_PAGE)
      return pageOf(await listMembers(ctx.db, principal.org_id, position), position.limit, memberView)
    },
  })
  const change = route({
    method: 'PATCH',
    path: '/console/members/:user_id',
    auth: 'session',
    summary: 'Give a person another role',
    description: 'The last owner of an organization keeps that role.',
    body: ChangeRole,
    response: Member,
    errors: ['conflict'],
    example: { role: 'admin' },
    async handle(ctx, { principal, params, body }) {
      const user_id = params.user_id!
      const member = await changeRole(ctx.db, principal, { user_id, role: body.role, now: ctx.clock.now() })
      callers.forget(`user:${user_id}`)
      return memberView(member)
    },
  })
  const remove = route({
    method: 'DELETE',
    path: '/console/members/:user_id',
    auth: 'session',
    summary: 'Remove a member from this organization',
    description: 'Their API keys in it are revoked.',
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

function memberView(member: MemberFacts): Member {
  const { id, email, name, role, created_at } = member
  return { id, object: 'member', user_id: id, email, name, role, created_at: unixSeconds(created_at) }
}
