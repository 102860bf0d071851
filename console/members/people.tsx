import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Member } from '../../server/identity/schema.ts'
import { usePagedList } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { followSession, type Role, useSession } from '../api/session.ts'
import { useText } from '../text/use-text.ts'
import { Button } from '../ui/button.tsx'
import { Avatar } from '../ui/data/badge.tsx'
import { DateTime } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { useFailureTexts } from '../ui/failure-text.ts'
import { Select } from '../ui/form/input.tsx'
import { ConfirmDialog } from '../ui/overlay/dialog.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { useRoleNames, useRoleOptions } from './roles.ts'

const MEMBERS = ['members'] as const

/** The people of the organization, with their roles to change. */
export function People() {
  const t = useText('members')
  const list = usePagedList<Member>(MEMBERS, '/console/members', { limit: 100 })
  const [removing, setRemoving] = useState<Member | null>(null)
  const owners = list.rows?.filter(({ role }) => role === 'owner').length ?? 0
  const columns = useColumns({ onRemove: setRemoving, owners })
  return (
    <>
      <Table label={t('list')} columns={columns} rows={list.rows} list={list} skeletonRows={3} />
      <RemoveDialog member={removing} onClose={() => setRemoving(null)} />
    </>
  )
}

function useColumns(options: { onRemove: (member: Member) => void; owners: number }): Column<Member>[] {
  const t = useText('members')
  const { user, organization } = useSession()
  const isOutOfReach = (member: Member) => member.role === 'owner' && organization.role !== 'owner'
  const isLastOwner = (member: Member) => member.role === 'owner' && options.owners < 2
  return [
    {
      key: 'person',
      header: t('column_person'),
      lead: true,
      cell: (member) => <Person member={member} isYou={member.user_id === user.id} />,
    },
    {
      key: 'role',
      header: t('column_role'),
      cell: (member) => (
        <RoleSelect
          member={member}
          fixed={isOutOfReach(member) || isLastOwner(member)}
          lastOwner={isLastOwner(member)}
        />
      ),
    },
    { key: 'joined', header: t('column_joined'), cell: ({ created_at }) => <DateTime at={created_at} /> },
    {
      key: 'actions',
      header: t('column_actions'),
      controls: true,
      align: 'end',
      cell: (member) => (
        <Button
          size="sm"
          variant="ghost"
          className="text-danger!"
          disabled={isOutOfReach(member) || isLastOwner(member)}
          onClick={() => options.onRemove(member)}
        >
          {t('remove')}
        </Button>
      ),
    },
  ]
}

function Person({ member, isYou }: { member: Member; isYou: boolean }) {
  const t = useText('members')
  const name = member.name || member.email
  return (
    <span className="flex min-w-0 items-center gap-3">
      <Avatar name={name} />
      <span className="flex min-w-0 flex-col">
        <span className="font-medium [overflow-wrap:anywhere]">
          {name}
          {isYou && <span className="ms-1.5 font-normal text-muted">({t('you')})</span>}
        </span>
        <span className="text-[0.8125rem] text-muted [overflow-wrap:anywhere]">{member.email}</span>
      </span>
    </span>
  )
}

function RoleSelect({ member, fixed, lastOwner }: { member: Member; fixed: boolean; lastOwner: boolean }) {
  const t = useText('members')
  const queries = useQueryClient()
  const { user, organization } = useSession()
  const options = useRoleOptions(organization.role)
  const nameOf = useRoleNames()
  const failureText = useFailureTexts()
  const name = member.name || member.email
  const change = useMutation({
    mutationFn: (role: Role) => request<Member>('PATCH', `/console/members/${member.user_id}`, { body: { role } }),
    onSuccess: ({ role }) => toast(t('role_changed', { name, role: nameOf(role) })),
    onError: (error) => toast(failureText(error), 'danger'),
    onSettled: async () => {
      // Before the list, which a member may no longer read.
      if (member.user_id === user.id) await followSession(queries)
      await queries.invalidateQueries({ queryKey: MEMBERS })
    },
  })
  if (fixed) return <span title={lastOwner ? t('last_owner') : undefined}>{nameOf(member.role)}</span>
  return (
    <Select
      aria-label={t('change_role', { name })}
      className="w-36"
      value={change.isPending ? change.variables : member.role}
      options={options}
      onChange={(role) => change.mutate(role)}
    />
  )
}

function RemoveDialog({ member, onClose }: { member: Member | null; onClose: () => void }) {
  const t = useText('members')
  const queries = useQueryClient()
  if (member === null) return null
  const name = member.name || member.email
  const remove = async () => {
    await request('DELETE', `/console/members/${member.user_id}`)
    toast(t('removed', { name }))
    await queries.invalidateQueries({ queryKey: MEMBERS })
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('remove_title', { name })}
      confirmLabel={t('remove')}
      onConfirm={remove}
    >
      <p>{t('remove_text')}</p>
    </ConfirmDialog>
  )
}
