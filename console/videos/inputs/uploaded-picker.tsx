import { Check } from 'lucide-react'
import { useState } from 'react'
import { usePagedList } from '../../api/queries.ts'
import { filePath, type StoredFile } from '../../api/upload.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { LoadMore } from '../../ui/data/load-more.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useFileName } from '../../ui/file-name.ts'
import { Skeleton } from '../../ui/layout.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { useDeleting } from '../../ui/overlay/undo.tsx'
import { RULES, type Slot } from '../draft/attachments.ts'
import { MediaPreview } from './preview.tsx'

type Props = { slot: Slot; onClose: () => void; onChoose: (files: StoredFile[]) => void }

/** Picks uploaded files of the organization that a slot accepts. */
export function UploadedPicker({ slot, onClose, onChoose }: Props) {
  const t = useText('videos')
  const kit = useText('kit')
  const { purpose, count_max } = RULES[slot]
  const list = usePagedList<StoredFile>(['files'], '/v1/files', { purpose, limit: 60 })
  const deleting = useDeleting()
  const files = list.rows?.filter((file) => !deleting.has(filePath(file))) ?? null
  const [chosen, setChosen] = useState<StoredFile[]>([])
  const toggle = (file: StoredFile) =>
    setChosen((now) => {
      if (now.some(({ id }) => id === file.id)) return now.filter(({ id }) => id !== file.id)
      return count_max === 1 ? [file] : [...now, file]
    })
  const use = () => {
    onChoose(chosen)
    onClose()
  }
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t('picker.title')}
      description={t(`picker.description.${purpose}`)}
      actions={
        <>
          <Button onClick={onClose}>{kit('cancel')}</Button>
          <Button variant="primary" disabled={chosen.length === 0} onClick={use}>
            {t('picker.use')}
          </Button>
        </>
      }
    >
      {list.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      {files?.length === 0 ? (
        <p className="py-10 text-center text-sm text-muted">{t('picker.none')}</p>
      ) : (
        <div className="grid grid-cols-[repeat(auto-fill,minmax(7.5rem,1fr))] gap-2">
          {files === null
            ? [...Array(8).keys()].map((each) => <Skeleton key={each} className="h-32 rounded-lg" />)
            : files.map((file) => (
                <FileChoice
                  key={file.id}
                  {...{ slot, file }}
                  chosen={chosen.some(({ id }) => id === file.id)}
                  full={count_max > 1 && chosen.length >= count_max}
                  onToggle={() => toggle(file)}
                />
              ))}
        </div>
      )}
      <LoadMore list={list} size="sm" />
    </Dialog>
  )
}

/** `full`: as many are chosen as the slot holds. */
type ChoiceProps = { slot: Slot; file: StoredFile; chosen: boolean; full: boolean; onToggle: () => void }

function FileChoice({ slot, file, chosen, full, onToggle }: ChoiceProps) {
  const t = useText('videos')
  const format = useFormat()
  const { id, bytes } = file
  const name = useFileName()(file.filename)
  const { purpose, bytes_max } = RULES[slot]
  const too_large = bytes > bytes_max
  return (
    <button
      type="button"
      aria-pressed={chosen}
      disabled={too_large || (full && !chosen)}
      onClick={onToggle}
      className={cx(
        'relative min-w-0 rounded-lg border p-1.5 text-start disabled:opacity-50',
        chosen ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
      )}
    >
      <span className="block aspect-[4/3] overflow-hidden rounded-md bg-sunken">
        <MediaPreview purpose={purpose} url={`/v1/files/${encodeURIComponent(id)}/content`} />
      </span>
      <span className="mt-1 line-clamp-3 [overflow-wrap:anywhere] text-xs" title={name}>
        {name}
      </span>
      <span className="block text-xs text-muted tabular-nums">
        {too_large ? t('picker.too_large') : format.bytes(bytes)}
      </span>
      {chosen && (
        <span className="absolute end-2.5 top-2.5 grid size-5 place-items-center rounded-full bg-accent text-on-accent">
          <Check aria-hidden className="size-3.5" />
        </span>
      )}
    </button>
  )
}
