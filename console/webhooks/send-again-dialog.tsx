import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { RedeliverResult } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { FormError } from '../ui/failure-note.tsx'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { PATH, useRefresh, type WebhookEndpoint } from './endpoint.ts'

/** Asks since when events are to be sent again. */
export function SendAgainDialog({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const t = useText('webhooks')
  const refresh = useRefresh()
  const [since, setSince] = useState(() => localTime(new Date(Date.now() - 86_400_000)))
  const [undelivered_only, setUndelivered] = useState(true)
  const again = useMutation({
    mutationFn: () => {
      const body = { since: Math.floor(new Date(since).getTime() / 1000), undelivered_only }
      return request<RedeliverResult>('POST', `${PATH}/${endpoint.id}/redeliver`, { body })
    },
    async onSuccess({ deliveries }) {
      toast(t('sent_again', { count: deliveries }))
      await refresh()
      onClose()
    },
  })
  return (
    <FormDialog
      title={t('send_again')}
      description={t('send_again_text')}
      submitLabel={t('send_again_submit')}
      ready={!Number.isNaN(new Date(since).getTime())}
      busy={again.isPending}
      onSubmit={again.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('since')}>
          <Input type="datetime-local" value={since} onChange={(event) => setSince(event.target.value)} />
        </Field>
        <label className="flex min-h-8 items-center gap-2.5 text-sm pointer-coarse:min-h-11">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={undelivered_only}
            onChange={(event) => setUndelivered(event.target.checked)}
          />
          {t('undelivered_only')}
        </label>
        <FormError error={again.error} />
      </div>
    </FormDialog>
  )
}

/** As a field for a local date and time wants it, to the minute. */
function localTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
