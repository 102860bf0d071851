import { ArrowLeftRight } from 'lucide-react'
import type { VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { IconButton } from '../../ui/button.tsx'
import type { Draft } from '../draft/draft.ts'
import { accepts, countMax } from '../draft/models.ts'
import { swapFrames } from '../draft/uploads.ts'
import { useLimitText } from './attachment-text.ts'
import { FrameTile } from './frame-tile.tsx'
import { SlotFiles } from './slot-files.tsx'

type FileInputsProps = { draft: Draft; model: VideoModel | null }

/** The files of the mode that is chosen. */
export function FileInputs({ draft, model }: FileInputsProps) {
  return draft.mode === 'frames' ? <Frames draft={draft} model={model} /> : <References draft={draft} model={model} />
}

function Frames({ draft: { files }, model }: FileInputsProps) {
  const t = useText('videos')
  const limit = useLimitText('first_frame')
  const shown = (['first_frame', 'last_frame'] as const).filter(
    (slot) => accepts(model, slot) || files[slot].length > 0,
  )
  return (
    <div className="flex flex-col gap-2">
      <p className="text-[0.8125rem] text-muted">{t('frames_hint', { limit })}</p>
      <div className="relative grid grid-cols-2 gap-3">
        {shown.map((slot) => (
          <FrameTile key={slot} slot={slot} file={files[slot][0]} />
        ))}
        {shown.length === 2 && files.first_frame.length + files.last_frame.length > 0 && (
          <span className="absolute top-14 left-1/2 -translate-x-1/2">
            <IconButton
              size="sm"
              variant="secondary"
              className="rounded-full!"
              label={t('swap')}
              icon={<ArrowLeftRight />}
              onClick={swapFrames}
            />
          </span>
        )}
      </div>
    </div>
  )
}

function References({ draft, model }: FileInputsProps) {
  const t = useText('videos')
  const slots = (['images', 'videos', 'audio'] as const).filter(
    (slot) => accepts(model, slot) || draft.files[slot].length > 0,
  )
  return (
    <div className="flex flex-col gap-4">
      <p className="text-[0.8125rem] text-muted">
        {t('references_hint')} {t('references.explained')}
      </p>
      {slots.map((slot) => (
        <SlotFiles key={slot} slot={slot} files={draft.files[slot]} count_max={countMax(model, slot)} />
      ))}
    </div>
  )
}
