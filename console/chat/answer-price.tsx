import { useText } from '../text/use-text.ts'
import { Money, useFormat } from '../ui/format.tsx'
import type { AssistantMessage } from './conversation.ts'
import { usePlayground } from './playground.ts'

/** Tokens and cost of an answer: exactly what the ledger says. */
export function AnswerPrice({ message }: { message: AssistantMessage }) {
  const t = useText('chat')
  const { number } = useFormat()
  const { model } = usePlayground()
  const { tokens, cost, status, request_id } = message
  if (cost === null) {
    const looking = status !== 'streaming' && request_id !== null
    return looking && <p className="animate-breathe text-xs text-muted">{t('cost_unknown')}</p>
  }
  const parts = tokens
    ? ([
        ['input', tokens.input],
        ['cached', tokens.cached_input],
        ['output', tokens.output],
        ['reasoning', tokens.reasoning],
      ] as const)
    : []
  const shown = parts.filter(([kind, count]) => count > 0 || kind === 'input' || kind === 'output')
  return (
    <p data-cost={cost} className="text-xs text-muted tabular-nums">
      {shown.map(([kind, count]) => `${t(`tokens.${kind}`, { count: number(count) as unknown as number })} · `)}
      <Money amount={cost} currency={model.pricing.currency} digits="exact" />
    </p>
  )
}
