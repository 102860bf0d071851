import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Copy, Download, Ellipsis, Eye, FileText, Film, Folder, Image, Music, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Maker } from '../../server/console/schema.ts'
import { useMakers, usePagedList } from '../api/queries.ts'
import { useMayDelete } from '../api/session.ts'
import { filePath, type Purpose, type StoredFile } from '../api/upload.ts'
import { useText } from '../text/use-text.ts'
import { IconButton } from '../ui/button.tsx'
import { Id } from '../ui/data/code.tsx'
import { DateTime, useFormat } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { useFileName } from '../ui/file-name.ts'
import { Select } from '../ui/form/input.tsx'
import { EmptyState, PageHeader } from '../ui/layout.tsx'
import { Menu } from '../ui/overlay/menu.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { deleteWithUndo, useDeleting } from '../ui/overlay/undo.tsx'
import { contentPath } from './content.ts'
import { PreviewDialog } from './preview-dialog.tsx'
import { OFFERED, PURPOSES } from './purposes.ts'
import { UploadCard } from './upload-card.tsx'

const FILES = ['files'] as const
const PER_PAGE = 50

export function FilesPage() {
  const t = useText('files')
  const navigate = useNavigate()
  const asked = useSearch({ from: '/shell/files' }).purpose
  const purpose = PURPOSES.find((each) => each === asked) ?? ''
  const setPurpose = (next: Purpose | '') =>
    void navigate({ to: '.', search: next === '' ? {} : { purpose: next }, replace: true, resetScroll: false })
  const stored = usePagedList<StoredFile>(FILES, '/v1/files', { limit: PER_PAGE, purpose })
  const deleting = useDeleting()
  const list = { ...stored, rows: stored.rows?.filter((file) => !deleting.has(filePath(file))) ?? null }
  const [shown, setShown] = useState<StoredFile | null>(null)
  const remove = useDelete()
  const makers = useMakers((stored.rows ?? []).slice(-200).map(({ id }) => id))
  const mayDelete = useMayDelete()
  const columns = useColumns({ onShow: setShown, onDelete: remove, mayDelete, makers })
  const isThere = (each: Purpose) => each === purpose || list.rows?.some((file) => file.purpose === each) === true
  const purposes = PURPOSES.filter((each) => OFFERED.some((offered) => offered === each) || isThere(each))
  const empty =
    purpose === '' ? (
      <EmptyState icon={<Folder />} title={t('empty_title')}>
        {t('empty_text')}
      </EmptyState>
    ) : (
      <EmptyState icon={<Folder />} title={t('none_title')}>
        {t('none_text')}
      </EmptyState>
    )
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <UploadCard />
      <div className="mb-3 flex min-h-9 flex-wrap items-center justify-between gap-3">
        <h2 className="text-sm font-semibold">{t('list')}</h2>
        <Select
          aria-label={t('filter')}
          className="w-52"
          value={purpose}
          onChange={setPurpose}
          options={[
            { value: '', label: t('filter_all') },
            ...purposes.map((value) => ({ value, label: t(`purpose.${value}`) })),
          ]}
        />
      </div>
      <Table
        label={t('list')}
        columns={columns}
        rows={list.rows}
        list={list}
        empty={empty}
        onOpen={setShown}
        skeletonRows={4}
      />
      <PreviewDialog
        file={shown}
        mayDelete={shown !== null && mayDelete(makers.get(shown.id))}
        onClose={() => setShown(null)}
        onDelete={(file) => {
          setShown(null)
          remove(file)
        }}
      />
    </>
  )
}

type Actions = {
  onShow: (file: StoredFile) => void
  onDelete: (file: StoredFile) => void
  makers: ReadonlyMap<string, Maker>
  mayDelete: (maker: Maker | undefined) => boolean
}

function useColumns(actions: Actions): Column<StoredFile>[] {
  const t = useText('files')
  const { bytes } = useFormat()
  return [
    { key: 'name', header: t('column_name'), lead: true, cell: (file) => <Name file={file} onShow={actions.onShow} /> },
    {
      key: 'purpose',
      header: t('column_purpose'),
      className: 'whitespace-nowrap',
      cell: ({ purpose }) => t(`purpose.${purpose}`),
    },
    {
      key: 'size',
      header: t('column_size'),
      align: 'end',
      className: 'whitespace-nowrap',
      cell: ({ bytes: size }) => bytes(size),
    },
    { key: 'maker', header: t('column_maker'), cell: ({ id }) => <MakerName maker={actions.makers.get(id)} /> },
    // Where the table is narrow, and no card, its other columns have room.
    {
      key: 'created',
      header: t('column_created'),
      className: '@min-[40rem]/table:@max-[52rem]/table:hidden',
      cell: ({ created_at }) => <DateTime at={created_at} />,
    },
    { key: 'expires', header: t('column_expires'), cell: ({ expires_at }) => <DateTime at={expires_at} relative /> },
    {
      key: 'actions',
      header: t('column_actions'),
      controls: true,
      align: 'end',
      cell: (file) => <FileMenu file={file} {...actions} />,
    },
  ]
}

const ICONS: Partial<Record<Purpose, typeof Film>> = { vision: Image, video: Film, audio: Music }

function Name({ file, onShow }: { file: StoredFile; onShow: (file: StoredFile) => void }) {
  const Icon = ICONS[file.purpose] ?? FileText
  const name = useFileName()(file.filename)
  return (
    <span className="flex min-w-0 items-center gap-3">
      <span
        aria-hidden
        className="grid size-8 shrink-0 place-items-center rounded-lg border border-line bg-sunken text-muted [&_svg]:size-4"
      >
        <Icon />
      </span>
      <span className="flex min-w-0 flex-col items-start">
        <button
          type="button"
          title={name}
          onClick={() => onShow(file)}
          className="line-clamp-2 max-w-full rounded-sm text-start font-medium [overflow-wrap:anywhere] hover:underline"
        >
          {name}
        </button>
        <span className="font-mono text-xs font-normal text-muted">
          <Id>{file.id}</Id>
        </span>
      </span>
    </span>
  )
}

function MakerName({ maker }: { maker: Maker | undefined }) {
  return (
    <span title={maker?.user_id} className="[overflow-wrap:anywhere]">
      {maker ? (maker.name ?? maker.user_id) : '…'}
    </span>
  )
}

function FileMenu({ file, onShow, onDelete, makers, mayDelete }: Actions & { file: StoredFile }) {
  const t = useText('files')
  const kit = useText('kit')
  const name = useFileName()(file.filename)
  const copy = () =>
    navigator.clipboard.writeText(file.id).then(
      () => toast(t('id_copied')),
      () => toast(kit('copy_failed'), 'danger'),
    )
  return (
    <Menu
      trigger={<IconButton label={t('actions', { name })} icon={<Ellipsis />} size="sm" />}
      items={[
        { label: t('preview'), icon: <Eye />, onSelect: () => onShow(file) },
        { href: contentPath(file), label: t('download'), icon: <Download />, download: true },
        { label: t('copy_id'), icon: <Copy />, onSelect: () => void copy() },
        'line',
        {
          label: t('delete'),
          icon: <Trash2 />,
          danger: true,
          onSelect: () => onDelete(file),
          ...(!mayDelete(makers.get(file.id)) && { disabled: true, hint: kit('delete_own_only') }),
        },
      ]}
    />
  )
}

function useDelete(): (file: StoredFile) => void {
  const t = useText('files')
  const queries = useQueryClient()
  const nameOf = useFileName()
  const reload = () => queries.invalidateQueries({ queryKey: FILES })
  return (file) =>
    deleteWithUndo({
      paths: [filePath(file)],
      text: t('deleted', { name: nameOf(file.filename) }),
      onDeleted: reload,
      onRestored: reload,
    })
}
