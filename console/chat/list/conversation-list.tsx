import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Ellipsis, Pencil, Pin, PinOff, Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { ListedConversation } from '../../../server/conversations/schema.ts'
import { usePagedList } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { FailureNote, FormError } from '../../ui/failure-note.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { FormDialog } from '../../ui/overlay/form-dialog.tsx'
import { Menu } from '../../ui/overlay/menu.tsx'
import { deleteWithUndo, useDeleting } from '../../ui/overlay/undo.tsx'

/** The person's conversations, pinned ones first, with a search. */
export function ConversationList() {
  const t = useText('chat')
  const [typed, setTyped] = useState('')
  const search = useSettled(typed.trim())
  const deleting = useDeleting()
  const list = usePagedList<ListedConversation>(['conversations'], '/console/conversations', { search })
  const rows = list.rows?.filter(({ id }) => !deleting.has(pathOf(id))) ?? null
  return (
    <div className="flex flex-col gap-3">
      <Field label={t('list.search')} hideLabel>
        <Input
          type="search"
          value={typed}
          maxLength={200}
          placeholder={t('list.search')}
          onChange={({ target }) => setTyped(target.value)}
        />
      </Field>
      {list.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      {rows === null && !list.error && <Skeleton className="h-32" />}
      {rows?.length === 0 && (
        <p className="px-2 text-[0.8125rem] text-pretty text-muted">
          {t(search === '' ? 'list.none' : 'list.no_match')}
        </p>
      )}
      <ul aria-label={t('list.title')} className="flex flex-col gap-0.5">
        {rows?.map((row) => (
          <Row key={row.id} row={row} />
        ))}
      </ul>
      {list.has_more && (
        <Button size="sm" busy={list.is_loading_more} onClick={list.loadMore}>
          {t('list.more')}
        </Button>
      )}
      {rows !== null && rows.length > 0 && <p className="px-2 text-xs text-pretty text-muted">{t('list.kept')}</p>}
    </div>
  )
}

const SETTLED_MS = 250

/** What somebody types, once they pause. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

function Row({ row }: { row: ListedConversation }) {
  const t = useText('chat')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { id: shown } = useParams({ strict: false })
  const [renaming, setRenaming] = useState(false)
  const { id, title, pinned } = row
  const { date } = useFormat()
  const reload = () =>
    Promise.all(['conversations', 'conversation'].map((noun) => queries.invalidateQueries({ queryKey: [noun] })))
  const pin = useMutation({
    mutationFn: () => request('PATCH', pathOf(id), { body: { pinned: !pinned } }),
    onSettled: reload,
  })
  const remove = () => {
    deleteWithUndo({ paths: [pathOf(id)], text: t('list.deleted', { title }), onDeleted: reload, onRestored: () => {} })
    if (shown === id) void navigate({ to: '/chat' })
  }
  return (
    <li className="group/row relative flex items-center">
      <Link
        to="/chat/$id"
        params={{ id }}
        title={title}
        aria-current={shown === id ? 'page' : undefined}
        className={cx(
          'flex min-h-9 min-w-0 grow flex-col justify-center rounded-lg py-1 ps-2.5 pe-10 hover:bg-hover pointer-coarse:min-h-11',
          shown === id && 'bg-hover font-medium',
        )}
      >
        <span className="flex min-w-0 items-center gap-1.5 text-[0.8125rem]">
          {pinned && <Pin role="img" aria-label={t('list.pinned')} className="size-3.5 shrink-0 text-muted" />}
          <span className="truncate">{title}</span>
        </span>
        <span className="text-xs font-normal text-muted">{t('list.until', { date: date(row.expires_at) })}</span>
      </Link>
      <div className="absolute end-1">
        <Menu
          trigger={<IconButton size="sm" label={t('list.actions', { title })} icon={<Ellipsis />} />}
          items={[
            { label: t('list.rename'), icon: <Pencil />, onSelect: () => setRenaming(true) },
            {
              label: t(pinned ? 'list.unpin' : 'list.pin'),
              icon: pinned ? <PinOff /> : <Pin />,
              onSelect: () => pin.mutate(),
            },
            { label: t('remove'), icon: <Trash2 />, danger: true, onSelect: remove },
          ]}
        />
      </div>
      {renaming && <RenameDialog row={row} onClose={() => setRenaming(false)} onRenamed={reload} />}
    </li>
  )
}

type RenameDialogProps = { row: ListedConversation; onClose: () => void; onRenamed: () => Promise<unknown> }

function RenameDialog({ row, onClose, onRenamed }: RenameDialogProps) {
  const t = useText('chat')
  const [title, setTitle] = useState(row.title)
  const rename = useMutation({
    mutationFn: () => request('PATCH', pathOf(row.id), { body: { title: title.trim() } }),
    onSuccess: async () => {
      await onRenamed()
      onClose()
    },
  })
  return (
    <FormDialog
      title={t('list.rename_title')}
      size="sm"
      submitLabel={t('save')}
      ready={title.trim() !== ''}
      busy={rename.isPending}
      onSubmit={rename.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('list.name')}>
          <Input autoFocus maxLength={200} value={title} onChange={({ target }) => setTitle(target.value)} />
        </Field>
        <FormError error={rename.error} />
      </div>
    </FormDialog>
  )
}

function pathOf(id: string): string {
  return `/console/conversations/${id}`
}
