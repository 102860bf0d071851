import { X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFileName } from '../../ui/file-name.ts'
import type { Attachment } from '../draft/attachments.ts'
import { takeOpening } from '../draft/draft-store.ts'
import { focusPrompt } from '../draft/prompt-area.ts'
import { detach } from '../draft/uploads.ts'
import { AttachmentPreview } from './preview.tsx'
import { AttachmentState, SlotDrop } from './slot-files.tsx'

/** The first or last frame of a video, or the drop area for it. */
export function FrameTile({ slot, file }: { slot: 'first_frame' | 'last_frame'; file: Attachment | undefined }) {
  const t = useText('videos')
  return (
    <fieldset className="flex min-w-0 flex-col" data-slot={slot}>
      <legend className="mb-1.5 text-[0.8125rem] font-medium">{t(`slot.${slot}`)}</legend>
      {file ? <Filled {...{ slot, file }} /> : <SlotDrop slot={slot} label={t(`add.${slot}`)} />}
    </fieldset>
  )
}

function Filled({ slot, file }: { slot: 'first_frame' | 'last_frame'; file: Attachment }) {
  const t = useText('videos')
  const { key, problem } = file
  const name = useFileName()(file.filename)
  const box = useRef<HTMLDivElement>(null)
  // After the page has taken the focus, and its place in the window.
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (slot !== 'first_frame' || !takeOpening('frame')) return
      box.current?.scrollIntoView({ block: 'nearest' })
      // In a low window the prompt, which has the focus, comes first.
      focusPrompt()
    })
    return () => cancelAnimationFrame(frame)
  }, [slot])
  return (
    <div
      ref={box}
      className={cx(
        // The price and the button stay below it.
        'scroll-mt-16 rounded-lg border bg-raised p-1.5 sm:max-xl:scroll-mb-52',
        problem ? 'border-danger/60' : 'border-line',
      )}
    >
      <div className="relative aspect-video overflow-hidden rounded-md bg-sunken">
        <AttachmentPreview slot={slot} attachment={file} />
        <span className="absolute end-1 top-1">
          <IconButton
            size="sm"
            variant="secondary"
            label={t('remove', { name })}
            icon={<X />}
            onClick={() => detach(slot, key)}
          />
        </span>
      </div>
      <p className="mt-1 line-clamp-3 [overflow-wrap:anywhere] text-[0.8125rem]" title={name}>
        {name}
      </p>
      <AttachmentState {...{ slot, file }} />
    </div>
  )
}
