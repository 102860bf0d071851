import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { TestResult } from '../../server/webhooks/schema.ts'
import { request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { FormError, Note } from '../ui/failure-note.tsx'
import { Field } from '../ui/form/field.tsx'
import { Select } from '../ui/form/input.tsx'
import { FormDialog } from '../ui/overlay/form-dialog.tsx'
import { EVENT_GROUPS, type EventType, PATH, type WebhookEndpoint } from './endpoint.ts'
import { useErrorText } from './error-text.ts'

const OPTIONS = Object.values(EVENT_GROUPS).flatMap((types) => types.map((value) => ({ value, label: value })))

/** Sends a sample event and shows what came back. */
export function TestDialog({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const t = useText('webhooks')
  const errorText = useErrorText()
  const [event_type, setType] = useState<EventType>(endpoint.event_types[0]!)
  const trial = useMutation({
    mutationFn: () => request<TestResult>('POST', `${PATH}/${endpoint.id}/test`, { body: { event_type } }),
  })
  const result = trial.data
  return (
    <FormDialog
      title={t('test_title')}
      description={t('test_text')}
      submitLabel={t('test_submit')}
      ready
      busy={trial.isPending}
      onSubmit={trial.mutate}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label={t('event_type')}>
          <Select value={event_type} options={OPTIONS} onChange={setType} />
        </Field>
        {result && !trial.isPending && (
          <div aria-live="polite">
            <Note tone={result.success ? 'info' : 'danger'}>
              {result.success ? t('test_succeeded', { status: result.status_code }) : errorText(result)}
            </Note>
          </div>
        )}
        <FormError error={trial.error} />
      </div>
    </FormDialog>
  )
}
