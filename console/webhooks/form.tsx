import { useText } from '../text/use-text.ts'
import { FormError } from '../ui/failure-note.tsx'
import { useFieldError } from '../ui/failure-text.ts'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import type { EventType } from './endpoint.ts'
import { EventsField } from './events-field.tsx'

export type EndpointDraft = { name: string; url: string; event_types: EventType[]; low_balance: string }

export const NEW_ENDPOINT: EndpointDraft = {
  name: '',
  url: '',
  event_types: ['video.completed', 'video.failed', 'response.completed', 'response.failed'],
  low_balance: '10',
}

/** What is sent: without the threshold where no event needs it. */
export function bodyOf({ name, url, event_types, low_balance }: EndpointDraft) {
  const threshold = event_types.includes('balance.low') ? { low_balance: low_balance.trim() } : {}
  return { name: name.trim(), url: url.trim(), event_types, ...threshold }
}

export function isComplete({ name, url, event_types }: EndpointDraft): boolean {
  return name.trim() !== '' && url.trim() !== '' && event_types.length > 0
}

type Props = { draft: EndpointDraft; onChange: (draft: EndpointDraft) => void; error: unknown }

export function EndpointForm({ draft, onChange, error }: Props) {
  const t = useText('webhooks')
  const errorOf = useFieldError(error)
  const set = (change: Partial<EndpointDraft>) => onChange({ ...draft, ...change })
  return (
    <div className="flex flex-col gap-4">
      <Field label={t('name')} error={errorOf('name')}>
        <Input autoFocus maxLength={100} value={draft.name} onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label={t('url')} hint={t('url_hint')} error={errorOf('url') && t('url_invalid')}>
        <Input type="url" maxLength={2048} value={draft.url} onChange={(event) => set({ url: event.target.value })} />
      </Field>
      <EventsField value={draft.event_types} onChange={(event_types) => set({ event_types })} />
      {draft.event_types.includes('balance.low') && (
        <Field label={t('low_balance')} hint={t('low_balance_hint')} error={errorOf('low_balance')}>
          <Input
            inputMode="decimal"
            value={draft.low_balance}
            onChange={(event) => set({ low_balance: event.target.value })}
          />
        </Field>
      )}
      <FormError error={error} fields={['name', 'url', 'low_balance']} />
    </div>
  )
}
