import { ArrowDown, ArrowUp, FolderOpen, GripVertical, RotateCw, X } from 'lucide-react'
import { type PointerEvent, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { ProgressBar } from '../../ui/data/progress.tsx'
import { useFileName } from '../../ui/file-name.ts'
import { FileDrop } from '../../ui/form/file-drop.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { type Attachment, acceptOf, RULES, type Slot } from '../draft/attachments.ts'
import { changeDraft } from '../draft/draft-store.ts'
import { type NamedSlot, referenceName } from '../draft/prompt.ts'
import { insertName } from '../draft/prompt-area.ts'
import { attachFiles, attachStored, detach, retryUpload } from '../draft/uploads.ts'
import { useLimitText, useProblemText } from './attachment-text.ts'
import { AttachmentPreview } from './preview.tsx'
import { UploadedPicker } from './uploaded-picker.tsx'
import { useOrder } from './use-order.ts'

/** `count_max`: how many the model takes. */
type SlotFilesProps = { slot: NamedSlot; files: Attachment[]; count_max: number }

/** Reference files of one kind, in their order, and a drop area for more. */
export function SlotFiles({ slot, files, count_max }: SlotFilesProps) {
  const t = useText('videos')
  const limit = useLimitText(slot, count_max)
  const { list, dragged, moved, moveTo, beginDrag } = useOrder(slot)
  const full = files.length >= count_max
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5" data-slot={slot}>
      <legend className="mb-1.5 flex w-full items-baseline justify-between gap-2 text-[0.8125rem] font-medium">
        {t(`slot.${slot}`)}
        <span
          className={cx('text-xs font-normal tabular-nums', files.length > count_max ? 'text-danger' : 'text-muted')}
        >
          {files.length} / {count_max}
        </span>
      </legend>
      {files.length > 0 && (
        <ol ref={list} className="flex flex-col gap-1">
          {files.map((file, at) => (
            <SlotFile
              key={file.key}
              {...{ slot, file, at, last: files.length - 1, dragged: dragged === file.key }}
              onMove={(to) => moveTo(file.key, to)}
              onDrag={(event) => beginDrag(file.key, event)}
            />
          ))}
        </ol>
      )}
      <span role="status" className="sr-only">
        {moved}
      </span>
      {!full && <SlotDrop slot={slot} label={t(`add.${slot}`)} hint={limit} />}
    </fieldset>
  )
}

/** Adds files to a slot: dropped, pasted, chosen, or picked from the uploaded files. */
export function SlotDrop({ slot, label, hint }: { slot: Slot; label: string; hint?: string }) {
  const t = useText('videos')
  const [picking, setPicking] = useState(false)
  const report = (unfit: number) => {
    if (unfit > 0) toast(t('slot_full'), 'danger')
  }
  return (
    <div className="flex min-w-0 flex-col gap-1" data-slot={slot}>
      <FileDrop
        compact
        multiple={RULES[slot].count_max > 1}
        accept={acceptOf(slot)}
        {...{ label, hint }}
        onFiles={(files) => report(attachFiles(slot, files))}
      />
      <Button
        variant="ghost"
        size="sm"
        icon={<FolderOpen />}
        className="h-auto! min-h-8 self-start py-1 text-start whitespace-normal!"
        onClick={() => setPicking(true)}
      >
        {t('from_files')}
      </Button>
      {picking && (
        <UploadedPicker
          slot={slot}
          onClose={() => setPicking(false)}
          onChoose={(files) => report(attachStored(slot, files))}
        />
      )}
    </div>
  )
}

type SlotFileProps = {
  slot: NamedSlot
  file: Attachment
  at: number
  last: number
  dragged: boolean
  onMove: (to: number) => void
  onDrag: (event: PointerEvent) => void
}

function SlotFile({ slot, file, at, last, dragged, onMove, onDrag }: SlotFileProps) {
  const t = useText('videos')
  const problem = useProblemText(slot, file)
  const { key } = file
  const name = useFileName()(file.filename)
  const tag = referenceName(slot, at)
  return (
    <li
      className={cx(
        'flex items-center gap-2.5 rounded-lg border bg-raised p-1.5',
        problem ? 'border-danger/60' : 'border-line',
        dragged && 'opacity-60 shadow-float',
      )}
    >
      {last > 0 && (
        <span
          data-drag
          onPointerDown={onDrag}
          className="-mx-1 flex h-10 shrink-0 cursor-grab touch-none items-center text-muted active:cursor-grabbing"
        >
          <GripVertical aria-hidden className="size-4" />
        </span>
      )}
      <span className="size-10 shrink-0 overflow-hidden rounded-md bg-sunken">
        <AttachmentPreview slot={slot} attachment={file} />
      </span>
      <span className="min-w-0 grow">
        <span className="line-clamp-3 [overflow-wrap:anywhere] text-[0.8125rem]" title={name}>
          {name}
        </span>
        <AttachmentState {...{ slot, file }} />
        <button
          type="button"
          aria-label={t('references.insert', { tag })}
          // Keeps the place in the prompt.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => insertName(tag, (prompt) => changeDraft({ prompt }))}
          className="mt-0.5 rounded border border-line px-1 font-mono text-xs text-accent hover:bg-hover pointer-coarse:py-1"
        >
          {tag}
        </button>
      </span>
      <span className="flex shrink-0">
        {last > 0 && (
          <>
            <IconButton
              size="sm"
              label={t('move_earlier', { name })}
              icon={<ArrowUp />}
              aria-disabled={at === 0 || undefined}
              onClick={() => onMove(at - 1)}
            />
            <IconButton
              size="sm"
              label={t('move_later', { name })}
              icon={<ArrowDown />}
              aria-disabled={at === last || undefined}
              onClick={() => onMove(at + 1)}
            />
          </>
        )}
        <IconButton size="sm" label={t('remove', { name })} icon={<X />} onClick={() => detach(slot, key)} />
      </span>
    </li>
  )
}

/** State of a file: its size, upload progress, or what is wrong with it. */
export function AttachmentState({ slot, file }: { slot: Slot; file: Attachment }) {
  const t = useText('videos')
  const format = useFormat()
  const problem = useProblemText(slot, file)
  const { key, bytes, file_id, share } = file
  if (problem !== null)
    return (
      <span role="alert" className="flex flex-wrap items-center gap-x-2 text-xs text-danger">
        {problem}
        {file.problem?.code === 'upload' && (
          <button
            type="button"
            className="inline-flex items-center gap-1 font-medium underline"
            onClick={() => retryUpload(key)}
          >
            <RotateCw aria-hidden className="size-3" />
            {t('upload_again')}
          </button>
        )}
      </span>
    )
  if (file_id !== null) return <span className="block text-xs text-muted tabular-nums">{format.bytes(bytes)}</span>
  return (
    <span className="flex h-4 items-center">
      <ProgressBar
        share={share}
        label={share === null ? t('checking') : t('uploading', { percent: format.percent(share) })}
      />
    </span>
  )
}
