import type { ActivityEntry } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { useText } from '../text/use-text.ts'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'

/** Who changed what in the organization, newest first. */
export function Activity() {
  const t = useText('members')
  const list = usePagedList<ActivityEntry>(['activity'], '/console/activity', { limit: 20 })
  const columns: Column<ActivityEntry>[] = [
    { key: 'when', header: t('activity.column_when'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      key: 'what',
      header: t('activity.column_what'),
      lead: true,
      cell: ({ action }) => t(`activity.${nameOf(action)}`),
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
      cell: ({ details }) => <span className="text-muted [overflow-wrap:anywhere]">{wordsOf(details)}</span>,
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

const ACTIONS = [
  'organization_create',
  'organization_plan',
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
  'webhook_endpoint_create',
  'webhook_endpoint_change',
  'webhook_endpoint_rotate_secret',
  'webhook_endpoint_delete',
] as const

/** The text of an action. */
function nameOf(action: string): (typeof ACTIONS)[number] {
  return action.replace('.', '_') as (typeof ACTIONS)[number]
}
