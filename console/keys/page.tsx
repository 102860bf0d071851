import { useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ApiKey, Member } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useIsManager, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { Code } from '../ui/data/code.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { EmptyState, PageHeader } from '../ui/layout.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'

export const KEYS = ['api_keys'] as const

export function KeysPage() {
  const t = useText('keys')
  const list = usePagedList<ApiKey>(KEYS, '/console/api_keys', { limit: 100 })
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const columns = useKeyColumns(setRevoking)
  const create = (
    <Button variant="primary" icon={<Plus />} onClick={() => setCreating(true)}>
      {t('create')}
    </Button>
  )
  const empty = (
    <EmptyState icon={<KeyRound />} title={t('empty_title')} action={create}>
      {t('empty_text')}
    </EmptyState>
  )
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={list.rows?.length ? create : undefined} />
      <Table label={t('list')} columns={columns} rows={list.rows} list={list} empty={empty} skeletonRows={3} />
      <CreateKeyDialog open={creating} onOpenChange={setCreating} />
      <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />
    </>
  )
}

function useKeyColumns(onRevoke: (key: ApiKey) => void): Column<ApiKey>[] {
  const t = useText('keys')
  const isManager = useIsManager()
  const nameOf = usePeople(isManager)
  const owner: Column<ApiKey> = {
    key: 'owner',
    header: t('column_owner'),
    cell: ({ user_id }) => <span className="[overflow-wrap:anywhere]">{nameOf(user_id)}</span>,
  }
  return [
    {
      key: 'name',
      header: t('column_name'),
      lead: true,
      cell: ({ name }) => <span className="font-medium [overflow-wrap:anywhere]">{name}</span>,
    },
    { key: 'key', header: t('column_key'), cell: ({ hint }) => <Code>{hint}</Code> },
    ...(isManager ? [owner] : []),
    { key: 'created', header: t('column_created'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      key: 'last_used',
      header: t('column_last_used'),
      cell: ({ last_used_at }) =>
        last_used_at === null ? (
          <span className="text-muted">{t('never_used')}</span>
        ) : (
          <DateTime at={last_used_at} relative />
        ),
    },
    {
      key: 'actions',
      header: t('column_actions'),
      controls: true,
      align: 'end',
      cell: (key) => (
        <Button size="sm" variant="ghost" className="text-danger!" onClick={() => onRevoke(key)}>
          {t('revoke')}
        </Button>
      ),
    },
  ]
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey | null; onClose: () => void }) {
  const t = useText('keys')
  const queries = useQueryClient()
  if (apiKey === null) return null
  const { id, name, hint } = apiKey
  const revoke = async () => {
    await request('DELETE', `/console/api_keys/${id}`)
    toast(t('revoked', { name }))
    await queries.invalidateQueries({ queryKey: KEYS })
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('revoke_title', { name })}
      confirmLabel={t('revoke')}
      onConfirm={revoke}
    >
      <p>{t('revoke_text', { hint })}</p>
    </ConfirmDialog>
  )
}

/** Names of the members by user id. The list of members is read only by those who may see it. */
function usePeople(isManager: boolean): (user_id: string) => string {
  const t = useText('keys')
  const { user } = useSession()
  const { rows } = usePagedList<Member>(['members'], '/console/members', { limit: 100 }, { enabled: isManager })
  return (user_id) => {
    if (user_id === user.id) return t('you')
    if (rows === null) return ''
    const member = rows.find((each) => each.user_id === user_id)
    return member ? member.name || member.email : t('removed_person')
  }
}
