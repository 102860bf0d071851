import type { ActivityEntry } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { useText } from '../text/use-text.ts'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'

/** Who changed what in the organization, newest first. */
export function Activity() {
  const t = useText('members')
  const list = usePagedList<ActivityEntry>(['activity'], '/console/activity', { limit: 20 })
  const settingOf = ({ to }: ActivityEntry['details'] & { to?: unknown }) =>
    t(to === 'own' ? 'deleting.own' : 'deleting.all')
  const columns: Column<ActivityEntry>[] = [
    { key: 'when', header: t('activity.column_when'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      key: 'what',
      header: t('activity.column_what'),
      lead: true,
      cell: ({ action, target }) => (
        <span className="flex min-w-0 flex-col">
          {t(`activity.${nameOf(action)}`)}
          {DELETIONS.has(action) && target !== null && (
            <span className="font-mono text-xs font-normal text-muted [overflow-wrap:anywhere]">{target}</span>
          )}
        </span>
      ),
    },
    {
      key: 'who',
      header: t('activity.column_who'),
      cell: ({ actor }) => (
        <span className="[overflow-wrap:anywhere]">
          {actor.kind === 'operator'
            ? t('activity.operator')
            : [actor.email ?? actor.user_id, actor.key_hint].filter(Boolean).join(' · ')}
        </span>
      ),
    },
    {
      key: 'details',
      header: t('activity.column_details'),
      cell: ({ action, details }) => (
        <span className="text-muted [overflow-wrap:anywhere]">
          {action === 'organization.members_delete' ? settingOf(details) : wordsOf(details)}
        </span>
      ),
    },
  ]
  const empty = <p className="px-4 py-6 text-center text-sm text-muted">{t('activity.empty')}</p>
  return (
    <Table label={t('activity.title')} columns={columns} rows={list.rows} list={list} empty={empty} skeletonRows={3} />
  )
}

/** What was changed into what, or every detail. */
function wordsOf(details: ActivityEntry['details']): string {
  const { from, to, ...others } = details as Record<string, unknown>
  const change = from === undefined || to === undefined ? [from ?? to].filter(Boolean) : [`${from} → ${to}`]
  return [...change, ...Object.values(others).flat()].join(' · ')
}

/** Of these the id is what remains. */
const DELETIONS: ReadonlySet<string> = new Set(['video.delete', 'file.delete'])

const ACTIONS = [
  'organization_create',
  'organization_plan',
  'organization_members_delete',
  'credits_grant',
  'member_add',
  'member_role',
  'member_remove',
  'invitation_create',
  'invitation_withdraw',
  'invitation_accept',
  'person_password_reset',
  'person_two_factor_reset',
  'api_key_create',
  'api_key_revoke',
  'video_cancel',
  'video_delete',
  'file_delete',
  'share_link_create',
  'share_link_revoke',
  'webhook_endpoint_create',
  'webhook_endpoint_change',
  'webhook_endpoint_rotate_secret',
  'webhook_endpoint_delete',
] as const

/** The text of an action. */
function nameOf(action: string): (typeof ACTIONS)[number] {
  return action.replace('.', '_') as (typeof ACTIONS)[number]
}
