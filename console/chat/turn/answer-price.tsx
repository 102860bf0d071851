import { useText } from '../../text/use-text.ts'
import { Money, useFormat } from '../../ui/data/format.tsx'
import type { AssistantMessage, Tokens } from '../conversation/conversation.ts'
import { usePlayground } from '../conversation/playground.ts'

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
  const parts = tokens ? [inputOf(tokens), outputOf(tokens)] : []
  const shown = parts.map(({ key, all, part }) => t(`tokens.${key}`, { all: number(all), part: number(part) }))
  return (
    <p data-cost={cost} className="text-xs text-muted tabular-nums">
      {shown.map((text) => `${text} · `)}
      <Money amount={cost} currency={model.pricing.currency} digits="exact" />
    </p>
  )
}

function inputOf({ input: all, cached_input: part }: Tokens) {
  return { key: part > 0 ? 'input_cached' : 'input', all, part } as const
}

function outputOf({ output: all, reasoning: part }: Tokens) {
  return { key: part > 0 ? 'output_reasoning' : 'output', all, part } as const
}
