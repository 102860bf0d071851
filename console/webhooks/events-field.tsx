import { useText } from '../text/use-text.ts'
import { EVENT_GROUPS, type EventType } from './endpoint.ts'

type Props = { value: readonly EventType[]; onChange: (value: EventType[]) => void }

/** Which events are sent. */
export function EventsField({ value, onChange }: Props) {
  const t = useText('webhooks')
  const toggle = (type: EventType, on: boolean) =>
    onChange(on ? [...value, type] : value.filter((each) => each !== type))
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1.5 text-[0.8125rem] font-medium">{t('event_types')}</legend>
      {(['video', 'response', 'balance'] as const).map((group) => (
        <div key={group}>
          <p className="mb-1 text-xs text-muted">{t(`group_${group}`)}</p>
          <div className="grid gap-x-4 sm:grid-cols-2">
            {EVENT_GROUPS[group].map((type) => (
              <label key={type} className="flex min-h-8 items-center gap-2.5 text-sm pointer-coarse:min-h-11">
                <input
                  type="checkbox"
                  className="size-4 accent-accent"
                  checked={value.includes(type)}
                  onChange={(event) => toggle(type, event.target.checked)}
                />
                <span className="font-mono text-[0.8125rem]">{type}</span>
              </label>
            ))}
          </div>
        </div>
      ))}
    </fieldset>
  )
}
