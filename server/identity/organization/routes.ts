import { actorOf, recordActivity } from '../activity/activity.ts'
import { type Route, route } from '../caller/route.ts'
import { lockedRole, requireManager } from '../members/members.ts'
import { findMembersDelete, updateMembersDelete } from '../people/store.ts'
import { ChangeOrganization, OrganizationSettings } from '../schema.ts'

/** What an organization has set for its people. */
export const organizationRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/console/organization',
    auth: 'session',
    summary: 'Read the settings of this organization',
    description: 'Whether members may delete what others have made.',
    response: OrganizationSettings,
    async handle(ctx, { principal }) {
      return settingsView(principal.org_id, await findMembersDelete(ctx.db, principal.org_id))
    },
  }),
  route({
    method: 'PATCH',
    path: '/console/organization',
    auth: 'session',
    summary: 'Change the settings of this organization',
    description: 'For owners and admins.',
    body: ChangeOrganization,
    response: OrganizationSettings,
    example: { members_delete: 'own' },
    async handle(ctx, { principal, body }) {
      requireManager(principal)
      const { org_id } = principal
      const { members_delete: to } = body
      await ctx.db.transaction().execute(async (tx) => {
        requireManager(await lockedRole(tx, principal))
        const from = await findMembersDelete(tx, org_id)
        if (from === to) return
        await updateMembersDelete(tx, { org_id, members_delete: to })
        const action = 'organization.members_delete'
        const now = ctx.clock.now()
        await recordActivity(tx, {
          actor: actorOf(principal),
          action,
          org_id,
          target: org_id,
          details: { from, to },
          now,
        })
      })
      return settingsView(org_id, to)
    },
  }),
]

function settingsView(id: string, members_delete: OrganizationSettings['members_delete']): OrganizationSettings {
  return { id, object: 'organization', members_delete }
}
