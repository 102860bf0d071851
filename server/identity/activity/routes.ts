import { unixSeconds } from '../../platform/clock.ts'
import { pageOf, positionOf } from '../../platform/http/list.ts'
import { type Route, route } from '../caller/route.ts'
import { requireManager } from '../members/members.ts'
import { type ActivityEntry, ActivityList, IDENTITY_PAGE, List } from '../schema.ts'
import { listActivity, type NamedActivity } from './store.ts'

/** What was changed in an organization, for its owners and admins. */
export const activityRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/console/activity',
    auth: 'session',
    summary: 'List who changed what in this organization, newest first',
    description: 'Changes by people, by API keys and by operators.',
    query: List,
    response: ActivityList,
    async handle(ctx, { principal, query }) {
      requireManager(principal)
      const position = positionOf('activity', query, IDENTITY_PAGE)
      return pageOf(await listActivity(ctx.db, principal.org_id, position), position.limit, activityView)
    },
  }),
]

/** Of an operator, an organization learns no more than that it was one. */
function activityView({
  id,
  created_at,
  actor,
  action,
  target,
  details,
  email,
  key_hint,
}: NamedActivity): ActivityEntry {
  const person = actor.kind === 'person' ? { user_id: actor.user_id, email, key_hint } : NOBODY
  return {
    id,
    object: 'activity_entry',
    created_at: unixSeconds(created_at),
    actor: { kind: actor.kind, ...person },
    action,
    target,
    details: details as ActivityEntry['details'],
  }
}

const NOBODY = { user_id: null, email: null, key_hint: null }
