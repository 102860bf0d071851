import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invitation } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { useRoleNames } from './roles.ts'

/** Pending invitations. */
export function Invitations() {
  const t = useText('members')
  const list = usePagedList<Invitation>(['invitations'], '/console/invitations', { limit: 100 })
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null)
  const nameOf = useRoleNames()
  const columns: Column<Invitation>[] = [
    {
      key: 'email',
      header: t('email'),
      lead: true,
      cell: ({ email }) => <span className="font-medium [overflow-wrap:anywhere]">{email}</span>,
    },
    { key: 'role', header: t('column_role'), cell: ({ role }) => nameOf(role) },
    { key: 'expires', header: t('column_expires'), cell: ({ expires_at }) => <DateTime at={expires_at} relative /> },
    {
      key: 'actions',
      header: t('column_actions'),
      controls: true,
      align: 'end',
      cell: (invitation) => (
        <Button size="sm" variant="ghost" className="text-danger!" onClick={() => setWithdrawing(invitation)}>
          {t('withdraw')}
        </Button>
      ),
    },
  ]
  const empty = <p className="px-4 py-6 text-center text-sm text-muted">{t('no_invitations')}</p>
  return (
    <>
      <Table label={t('invitations')} columns={columns} rows={list.rows} list={list} empty={empty} skeletonRows={1} />
      <WithdrawDialog invitation={withdrawing} onClose={() => setWithdrawing(null)} />
    </>
  )
}

function WithdrawDialog({ invitation, onClose }: { invitation: Invitation | null; onClose: () => void }) {
  const t = useText('members')
  const queries = useQueryClient()
  if (invitation === null) return null
  const withdraw = async () => {
    await request('DELETE', `/console/invitations/${invitation.id}`)
    toast(t('withdrawn'))
    await queries.invalidateQueries({ queryKey: ['invitations'] })
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('withdraw_title', { email: invitation.email })}
      confirmLabel={t('withdraw')}
      onConfirm={withdraw}
    >
      <p>{t('withdraw_text')}</p>
    </ConfirmDialog>
  )
}
