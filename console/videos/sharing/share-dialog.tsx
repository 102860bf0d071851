import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedShareLink } from '../../../server/videos/sharing/schema.ts'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock, CopyButton } from '../../ui/data/code.tsx'
import { FormError, Note } from '../../ui/failure-note.tsx'
import { Segmented } from '../../ui/form/choice.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { LiveLinks, linksPath, SHARE_LINKS } from './live-links.tsx'

type Props = { video_id: string; days_max: number; onClose: () => void }

/** Makes links to one video, shows each new address this once, and lists those that have not ended. */
export function ShareDialog({ video_id, days_max, onClose }: Props) {
  const t = useText('videos/sharing')
  const queries = useQueryClient()
  const choices = daysUpTo(days_max)
  const [days, setDays] = useState(choices.includes(7) ? 7 : choices.at(-1)!)
  const [download, setDownload] = useState(false)
  const create = useMutation({
    mutationFn: () => {
      const body = { expires_in_days: days, download }
      return request<CreatedShareLink>('POST', linksPath(video_id), { body })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [SHARE_LINKS, video_id] }),
  })
  const code = create.error && failureOf(create.error).code
  const refusal = code === 'conflict' ? t('too_many') : code === 'permission_denied' ? t('turned_off') : null
  const submit = (
    <Button type="submit" variant="primary" busy={create.isPending}>
      {t('create')}
    </Button>
  )
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('title')}
      description={t('description')}
      actions={submit}
      onSubmit={() => create.isPending || create.mutate()}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('days')}>
          <Segmented
            className="self-start"
            value={String(days)}
            options={choices.map((each) => ({ value: String(each), label: t('days_choice', { count: each }) }))}
            onChange={(value) => setDays(Number(value))}
          />
        </Field>
        <label className="flex min-h-8 items-center gap-2.5 text-sm pointer-coarse:min-h-11">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={download}
            onChange={(event) => setDownload(event.target.checked)}
          />
          {t('download')}
        </label>
        {refusal ? <Note tone="danger">{refusal}</Note> : <FormError error={create.error} />}
        {create.data && <NewLink key={create.data.id} url={create.data.url} />}
        <LiveLinks video_id={video_id} onRevoked={(id) => id === create.data?.id && create.reset()} />
      </div>
    </Dialog>
  )
}

/** The usual choices that the operator allows, and the longest one. */
function daysUpTo(days_max: number): number[] {
  return [...[1, 7, 30].filter((days) => days < days_max), days_max]
}

function NewLink({ url }: { url: string }) {
  const t = useText('videos/sharing')
  return (
    <div className="flex flex-col gap-3">
      <Note tone="warning">{t('cannot_show_again')}</Note>
      <CodeBlock label={t('new_link')} code={url} wrap />
      <div>
        <CopyButton autoFocus text={url} label={t('copy')} size="md" />
      </div>
    </div>
  )
}
