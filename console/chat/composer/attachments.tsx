import { FileText, Film, Image, Music, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { ProgressBar } from '../../ui/data/progress.tsx'
import { useFailureText } from '../../ui/failure-text.ts'
import type { Attachment, AttachmentKind, PendingAttachment } from '../conversation/conversation.ts'
import { imageUrl } from './attach.ts'

const ICONS: Record<AttachmentKind, typeof Film> = {
  image: Image,
  video: Film,
  audio: Music,
  pdf: FileText,
  text: FileText,
}

/** Files of a message: images are shown, others are named. `onRemove` while they can still be removed. */
export function Attachments({
  attachments,
  pending = [],
  onRemove,
  className,
}: {
  attachments: readonly Attachment[]
  pending?: readonly PendingAttachment[]
  onRemove?: (id: string) => void
  className?: string
}) {
  const t = useText('chat')
  if (attachments.length + pending.length === 0) return null
  const removal = ({ id, name }: { id: string; name: string }) =>
    onRemove && (
      <IconButton
        label={t('composer.remove', { name })}
        icon={<X />}
        size="sm"
        onClick={() => onRemove(id)}
        className="absolute -end-2 -top-2 h-6! w-6! rounded-full! border border-line bg-raised shadow-raised [&_svg]:size-3.5!"
      />
    )
  return (
    <ul className={cx('flex flex-wrap gap-3', className)}>
      {attachments.map((attachment) => (
        <li key={attachment.id} className="relative">
          {attachment.kind === 'image' ? (
            <ImageAttachment attachment={attachment} />
          ) : (
            <Named attachment={attachment} />
          )}
          {removal(attachment)}
        </li>
      ))}
      {pending.map((each) => (
        <li key={each.id} className="relative">
          <Pending attachment={each} />
          {removal(each)}
        </li>
      ))}
    </ul>
  )
}

function ImageAttachment({ attachment }: { attachment: Attachment }) {
  const t = useText('chat')
  return (
    <img
      src={imageUrl(attachment)}
      alt={attachment.name || t('attached_image')}
      title={attachment.name || undefined}
      className="size-20 rounded-lg border border-line bg-sunken object-cover"
    />
  )
}

function Named({ attachment }: { attachment: Attachment }) {
  const { bytes } = useFormat()
  return (
    <Tile kind={attachment.kind} name={attachment.name}>
      {attachment.size_bytes !== null && <span className="text-xs text-muted">{bytes(attachment.size_bytes)}</span>}
    </Tile>
  )
}

function Pending({ attachment: { kind, name, share, failure } }: { attachment: PendingAttachment }) {
  const t = useText('chat')
  const text = useFailureText(failure)
  return (
    <Tile kind={kind} name={name}>
      {text === null ? (
        <ProgressBar share={share} label={t('composer.uploading', { name })} />
      ) : (
        <span role="alert" className="line-clamp-2 text-xs text-danger">
          {text}
        </span>
      )}
    </Tile>
  )
}

function Tile({ kind, name, children }: { kind: AttachmentKind; name: string; children: ReactNode }) {
  const Icon = ICONS[kind]
  return (
    <span className="flex h-14 max-w-60 min-w-36 items-center gap-2.5 rounded-lg border border-line bg-surface px-3">
      <Icon aria-hidden className="size-4 shrink-0 text-muted" />
      <span className="flex min-w-0 grow flex-col gap-1">
        <span className="line-clamp-3 [overflow-wrap:anywhere] text-[0.8125rem]" title={name}>
          {name}
        </span>
        {children}
      </span>
    </span>
  )
}
