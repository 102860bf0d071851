import { ChevronsUpDown } from 'lucide-react'
import type { ChatModel } from '../../api/chat-models.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Badge } from '../../ui/data/badge.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { useModelDescription } from '../../ui/model-description.ts'
import { Menu } from '../../ui/overlay/menu.tsx'
import { usePlayground } from '../playground/playground.ts'

const KNOWN = ['vision', 'video', 'audio', 'tools', 'reasoning', 'structured_outputs', 'logprobs'] as const

/** The models of the plan, with what each can do and costs. */
export function ModelPicker() {
  const t = useText('chat')
  const { model, models, actions } = usePlayground()
  const items = models.map((each) => ({
    label: <Entry model={each} />,
    onSelect: () => actions.set({ model: each.id }),
    checked: each.id === model.id,
  }))
  return (
    <Menu
      align="start"
      width="w-80"
      trigger={
        <Button
          // A name that is spoken holds all that is seen.
          aria-label={t('model.choose', { name: model.test_model ? `${model.name} ${t('model.test')}` : model.name })}
          className="h-auto! min-h-9 max-w-96 min-w-0 shrink! py-1 pointer-coarse:min-h-11"
        >
          <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5 text-start whitespace-normal">
            <span className="line-clamp-3 [overflow-wrap:anywhere]">{model.name}</span>
            {/* Separates the words for screen readers. */ ' '}
            {model.test_model && <TestBadge />}
          </span>
          <ChevronsUpDown aria-hidden className="text-muted" />
        </Button>
      }
      items={[{ heading: t('model.heading') }, ...items]}
    />
  )
}

function Entry({ model }: { model: ChatModel }) {
  const t = useText('chat')
  const { money } = useFormat()
  const { pricing } = model
  const names = useCapabilityNames(model)
  const price = {
    input: money(pricing.input_per_million, pricing.currency, { digits: 'exact' }),
    output: money(pricing.output_per_million, pricing.currency, { digits: 'exact' }),
  }
  return (
    <span className="flex flex-col gap-0.5 py-1 whitespace-normal">
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 font-medium">
        <span className="[overflow-wrap:anywhere]">{model.name}</span>
        {model.test_model && <TestBadge />}
      </span>
      <span className="text-xs text-muted">{names.length === 0 ? t('model.plain') : names.join(' · ')}</span>
      <span className="text-xs text-muted tabular-nums">{t('model.price', price)}</span>
    </span>
  )
}

/** Its answers are made to build clients with. */
function TestBadge() {
  return <Badge tone="warning">{useText('chat')('model.test')}</Badge>
}

/** What the chosen model can do, takes and costs. */
export function ModelFacts() {
  const t = useText('chat')
  const { money, number } = useFormat()
  const { model } = usePlayground()
  const { pricing, context_length, max_output_tokens } = model
  const description = useModelDescription(model)
  const names = useCapabilityNames(model)
  const prices = [
    ['input', pricing.input_per_million],
    ['cached_input', pricing.cached_input_per_million],
    ['output', pricing.output_per_million],
  ] as const
  const sizes = [
    context_length !== null && t('model.context', { tokens: number(context_length) }),
    max_output_tokens !== null && t('model.output_max', { tokens: number(max_output_tokens) }),
  ].filter(Boolean)
  return (
    <section aria-label={model.name} className="flex flex-col gap-3">
      <h3 className="font-mono text-[0.8125rem] font-medium [overflow-wrap:anywhere]">{model.id}</h3>
      {model.test_model && (
        <span>
          <TestBadge />
        </span>
      )}
      {description !== '' && <p className="text-[0.8125rem] text-pretty text-muted">{description}</p>}
      {names.length > 0 && (
        <ul className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <li key={name}>
              <Badge>{name}</Badge>
            </li>
          ))}
        </ul>
      )}
      <div className="flex flex-col gap-1">
        <p className="text-xs text-muted">{t('model.per_million')}</p>
        <dl className="flex flex-col gap-1 text-[0.8125rem]">
          {prices.map(([name, amount]) => (
            <div key={name} className="flex justify-between gap-4">
              <dt>{t(`model.${name}`)}</dt>
              <dd className="tabular-nums">{money(amount, pricing.currency, { digits: 'exact' })}</dd>
            </div>
          ))}
        </dl>
      </div>
      {sizes.length > 0 && <p className="text-xs text-muted">{sizes.join(' · ')}</p>}
    </section>
  )
}

function useCapabilityNames({ capabilities }: ChatModel): string[] {
  const t = useText('chat')
  return KNOWN.filter((name) => capabilities.includes(name)).map((name) => t(`capabilities.${name}`))
}
