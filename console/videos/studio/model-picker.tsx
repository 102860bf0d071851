import { Check, ChevronDown } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { useEffect, useRef, useState } from 'react'
import type { VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { Field, useFieldProps } from '../../ui/form/field.tsx'
import { CONTROL } from '../../ui/form/input.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { useModelDescription } from '../../ui/model-description.ts'
import { takeOpening } from '../draft/draft-store.ts'
import { focusPrompt } from '../draft/prompt-area.ts'

type Props = {
  /** null while they load. */
  models: VideoModel[] | null
  chosen: VideoModel | null
  onChange: (id: string) => void
  error: string | null
}

/** The models of the plan with description and price. */
export function ModelPicker({ models, chosen, onChange, error }: Props) {
  const t = useText('videos')
  return (
    <Field label={t('model')} error={models?.length === 0 ? t('no_models') : error}>
      {models === null ? <Skeleton className="h-14 w-full rounded-lg" /> : <Picker {...{ models, chosen, onChange }} />}
    </Field>
  )
}

function Picker({
  models,
  chosen,
  onChange,
}: {
  models: VideoModel[]
  chosen: VideoModel | null
  onChange: Props['onChange']
}) {
  const t = useText('videos')
  const [open, onOpenChange] = useState(false)
  const trigger = useRef<HTMLButtonElement>(null)
  const leadsToPrompt = useRef(false)
  // After the page has taken the focus, which would close the list.
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (!takeOpening('models')) return
      leadsToPrompt.current = true
      trigger.current?.scrollIntoView({ block: 'center' })
      onOpenChange(true)
    })
    return () => cancelAnimationFrame(frame)
  }, [])
  // What is loaded above the list would move it out of the window.
  useEffect(() => {
    if (!open) return
    const watch = new ResizeObserver(() => trigger.current?.scrollIntoView({ block: 'nearest' }))
    for (const field of trigger.current?.closest('.overflow-y-auto')?.children ?? []) watch.observe(field)
    return () => watch.disconnect()
  }, [open])
  return (
    <DropdownMenu.Root modal={false} {...{ open, onOpenChange }}>
      <DropdownMenu.Trigger asChild ref={trigger}>
        <Trigger disabled={models.length === 0}>
          {chosen ? <ModelLines model={chosen} /> : <span className="text-muted">{t('choose_model')}</span>}
        </Trigger>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="start"
          sideOffset={4}
          collisionPadding={8}
          onInteractOutside={() => {
            leadsToPrompt.current = false
          }}
          onCloseAutoFocus={(event) => {
            if (!leadsToPrompt.current) return
            leadsToPrompt.current = false
            event.preventDefault()
            focusPrompt()
          }}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) w-(--radix-dropdown-menu-trigger-width) animate-rise overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-float"
        >
          <DropdownMenu.RadioGroup value={chosen?.id ?? ''} onValueChange={onChange}>
            {models.map((model) => (
              <DropdownMenu.RadioItem
                key={model.id}
                value={model.id}
                className="flex cursor-pointer items-start gap-2 rounded-lg px-2.5 py-2 outline-none select-none data-[highlighted]:bg-hover"
              >
                <ModelLines model={model} />
                <Check
                  aria-hidden
                  className={cx('mt-0.5 size-4 shrink-0 text-accent', model.id !== chosen?.id && 'invisible')}
                />
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function Trigger({ children, ...rest }: React.ButtonHTMLAttributes<HTMLButtonElement>) {
  const { id, ...field } = useFieldProps() as { id?: string }
  return (
    <button
      type="button"
      {...field}
      {...rest}
      id={id}
      aria-labelledby={id && `${id}-label ${id}`}
      className={cx(CONTROL, 'flex min-h-14 items-center gap-2 py-2 text-start')}
    >
      {children}
      <ChevronDown aria-hidden className="ms-auto size-4 shrink-0 text-muted" />
    </button>
  )
}

/** Name and price, with the description below. */
function ModelLines({ model }: { model: VideoModel }) {
  const t = useText('videos')
  const { money } = useFormat()
  const [price] = model.pricing
  const description = useModelDescription(model)
  return (
    <span className="flex min-w-0 grow flex-col">
      <span className="flex items-baseline justify-between gap-3 text-sm">
        <span className="min-w-0 font-medium [overflow-wrap:anywhere]">{model.name}</span>
        {price && (
          <span className="shrink-0 text-[0.8125rem] text-muted tabular-nums">
            {t('per_second', { price: money(price.per_second, price.currency, { digits: 'exact' }) })}
          </span>
        )}
      </span>
      {description && <span className="text-[0.8125rem] text-pretty text-muted">{description}</span>}
    </span>
  )
}
