import { listAllActivity, type NamedActivity } from '../../identity/activity/store.ts'
import { command } from './command.ts'
import { FILTERS, listed, readFilters } from './lists.ts'
import { readTime, SINCE } from './look-up/wanted.ts'

export const activityLog = command({
  summary: 'who did what, newest first: operators on their hosts, people in the console',
  records: null,
  flags: { ...FILTERS, since: SINCE },
  async run({ db, clock }, given) {
    const { org_id, limit } = await readFilters({ db }, given)
    const since = readTime('since', given.since, clock.now())
    const found = await listAllActivity(db, { org_id, since, limit })
    return listed(found.map(rowOf), limit)
  },
})

function rowOf({ id, created_at, actor, email, key_hint, org_id, action, target, details }: NamedActivity) {
  const who =
    actor.kind === 'operator'
      ? `${actor.os_user}@${actor.host}`
      : `${email ?? actor.user_id}${key_hint === null ? '' : ` by ${key_hint}`}`
  return { id, created_at, who, action, organization: org_id, target, details: JSON.stringify(details) }
}
