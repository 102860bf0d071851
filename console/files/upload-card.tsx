import { RotateCw, X } from 'lucide-react'
import { useState } from 'react'
import { useText } from '../text/use-text.ts'
import { IconButton } from '../ui/button.tsx'
import { useFormat } from '../ui/data/format.tsx'
import { ProgressBar } from '../ui/data/progress.tsx'
import { useFailureText } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { FileDrop } from '../ui/form/file-drop.tsx'
import { Select } from '../ui/form/input.tsx'
import { Card } from '../ui/layout.tsx'
import { acceptOf, BYTES_MAX, isMedia, OFFERED, type PurposeChoice } from './purposes.ts'
import { type Upload, useUploads } from './uploads.ts'

/** Drop area, purpose and running uploads. */
export function UploadCard() {
  const t = useText('files')
  const { bytes } = useFormat()
  const { uploads, add, retry, remove } = useUploads()
  const [choice, setChoice] = useState<PurposeChoice>('auto')
  const options = [
    { value: 'auto' as const, label: t('purpose.auto') },
    ...OFFERED.map((value) => ({ value, label: t(`purpose.${value}`) })),
  ]
  const limit = t('limit', { size: bytes(BYTES_MAX) })
  return (
    <Card className="mb-6">
      <div className="grid gap-x-6 gap-y-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
        <Field label={t('purpose_label')} hint={t(`purpose_hint.${choice}`)} className="lg:min-h-28">
          <Select value={choice} options={options} onChange={setChoice} />
        </Field>
        <div className="flex flex-col *:grow">
          <FileDrop
            multiple
            accept={acceptOf(choice)}
            onFiles={(files) => add(files, choice)}
            hint={isMedia(choice) ? `${t(`formats.${choice}`)} · ${limit}` : limit}
          />
        </div>
      </div>
      {uploads.length > 0 && (
        <ul aria-label={t('uploads')} className="mt-4 divide-y divide-line border-t border-line">
          {uploads.map((each) => (
            <UploadRow key={each.id} upload={each} onRetry={() => retry(each.id)} onRemove={() => remove(each.id)} />
          ))}
        </ul>
      )}
    </Card>
  )
}

type UploadRowProps = { upload: Upload; onRetry: () => void; onRemove: () => void }

function UploadRow({ upload, onRetry, onRemove }: UploadRowProps) {
  const t = useText('files')
  const { bytes, percent } = useFormat()
  const { file, purpose, state, share, mistake } = upload
  const { name } = file
  const failed = state === 'failed'
  return (
    <li className="flex items-center gap-3 py-2.5 last:pb-0">
      <div className="flex min-w-0 grow flex-col gap-1.5">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <span className="min-w-0 text-sm font-medium [overflow-wrap:anywhere]">{name}</span>
          <span className="text-[0.8125rem] text-muted tabular-nums">
            {state === 'waiting' && t('waiting')}
            {state === 'sending' &&
              (share < 1 ? t('sent', { share: percent(share), size: bytes(file.size) }) : t('checking'))}
            {failed && bytes(file.size)}
          </span>
        </div>
        {failed ? (
          <p role="alert" className="text-[0.8125rem] text-danger">
            <Reason upload={upload} />
          </p>
        ) : (
          <ProgressBar share={state === 'sending' ? share : 0} label={t('uploading', { name })} />
        )}
        {failed && mistake === 'wrong_kind' && isMedia(purpose) && (
          <p className="text-[0.8125rem] text-muted">{t(`formats.${purpose}`)}</p>
        )}
      </div>
      {failed && mistake === null && (
        <IconButton label={t('retry', { name })} icon={<RotateCw />} size="sm" onClick={onRetry} />
      )}
      <IconButton
        label={failed ? t('dismiss', { name }) : t('stop', { name })}
        icon={<X />}
        size="sm"
        onClick={onRemove}
      />
    </li>
  )
}

function Reason({ upload: { mistake, error } }: { upload: Upload }) {
  const t = useText('files')
  const failure = useFailureText(error)
  return mistake ? t(`mistake.${mistake}`) : failure
}
