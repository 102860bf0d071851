import { lazy, Suspense } from 'react'
import type { VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Segmented } from '../../ui/form/choice.tsx'
import { Field } from '../../ui/form/field.tsx'
import { SLOTS } from '../draft/attachments.ts'
import { type Draft, MODES, slotsOf } from '../draft/draft.ts'
import { changeDraft } from '../draft/draft-store.ts'
import { accepts } from '../draft/models.ts'

const FileInputs = lazy(() => import('./file-inputs.tsx').then((module) => ({ default: module.FileInputs })))

/** What a video is made from besides the prompt: nothing, frames or references. */
export function InputsField({ draft, model, error }: { draft: Draft; model: VideoModel | null; error: string | null }) {
  const t = useText('videos')
  const { mode, files } = draft
  const others = SLOTS.filter((slot) => !slotsOf(mode).includes(slot))
  const count = others.reduce((sum, slot) => sum + files[slot].length, 0)
  const options = MODES.map((value) => {
    const missing = value !== 'text' && !slotsOf(value).some((slot) => accepts(model, slot))
    return {
      value,
      label: t(`mode.${value}`),
      disabled: missing,
      ...(missing && { title: t('mode_missing', { model: model?.name ?? '' }) }),
    }
  })
  return (
    <div className="flex flex-col gap-3">
      <Field label={t('inputs')} error={error}>
        <Segmented className="w-full" value={mode} options={options} onChange={(next) => changeDraft({ mode: next })} />
      </Field>
      <p role="status" className="text-[0.8125rem] text-muted empty:hidden">
        {count > 0 && t('not_sent', { count })}
      </p>
      <Suspense>{mode !== 'text' && <FileInputs draft={draft} model={model} />}</Suspense>
    </div>
  )
}
