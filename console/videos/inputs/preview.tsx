import { FileVideo, ImageIcon, Music } from 'lucide-react'
import { useState } from 'react'
import { cx } from '../../ui/class-names.ts'
import { type Attachment, RULES, type Slot } from '../draft/attachments.ts'
import { previewOf } from '../draft/uploads.ts'

const ICONS = { vision: ImageIcon, video: FileVideo, audio: Music }

/** An image, the first frame of a video, or an icon for audio. Fills its box. */
export function AttachmentPreview({ slot, attachment }: { slot: Slot; attachment: Attachment }) {
  const { key, file_id, problem } = attachment
  const stored = file_id && problem?.code !== 'gone' ? `/v1/files/${encodeURIComponent(file_id)}/content` : null
  return <MediaPreview purpose={RULES[slot].purpose} url={previewOf(key) ?? stored} />
}

export function MediaPreview({ purpose, url }: { purpose: keyof typeof ICONS; url: string | null }) {
  const [broken, setBroken] = useState<string | null>(null)
  const Icon = ICONS[purpose]
  const look = 'size-full object-cover'
  if (url === null || purpose === 'audio' || broken === url)
    return (
      <span className={cx(look, 'grid place-items-center text-muted')}>
        <Icon aria-hidden className="size-5" />
      </span>
    )
  const onError = () => setBroken(url)
  if (purpose === 'vision')
    return <img src={url} alt="" loading="lazy" decoding="async" className={look} onError={onError} />
  return (
    <video
      src={`${url}#t=0.001`}
      muted
      playsInline
      preload="metadata"
      tabIndex={-1}
      aria-hidden
      className={look}
      onError={onError}
    />
  )
}
