import { listAllActivity, type NamedActivity } from '../../identity/activity/store.ts'
import { UsageError } from '../flags.ts'
import { command } from './command.ts'
import { FILTERS, listed, readFilters } from './lists.ts'

export const activityLog = command({
  summary: 'who did what, newest first: operators on their hosts, people in the console',
  records: null,
  flags: { ...FILTERS, since: { value: '<date>', help: 'Not before, such as 2026-11-24 or 2026-11-24T08:00Z' } },
  async run({ db }, given) {
    const { org_id, limit } = await readFilters({ db }, given)
    const since = given.since === undefined ? null : readDate(given.since)
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

function readDate(text: string): Date {
  const date = new Date(text)
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new UsageError('--since is not a date such as 2026-11-24 or 2026-11-24T08:00Z')
}
