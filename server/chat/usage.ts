import type { ChatModelConfig } from '../config/config.ts'
import type { TokenUsage } from '../engines/chat/contract.ts'
import { countInputTokens, countProduced, type ProducedChoice } from './count.ts'
import type { ExchangeRequest } from './request-completion.ts'

/** What an engine has produced of an answer. `asked`: it has been sent the request; `usages`: what it reported of single choices. */
export type ProducedUsage = {
  choices: readonly ProducedChoice[]
  asked: boolean
  ended: boolean
  usages: ReadonlyMap<number, TokenUsage>
}

/** The context of a model that states none, as far as an exchange that was abandoned is counted. */
const CONTEXT_TOKENS_MAX = 1_048_576

/** A higher count is an error of the engine: no model has such a context. */
const TOKENS_MAX = 2 ** 31 - 1

export function isUsable({ input, cached_input, output, reasoning, unlisted = 0 }: TokenUsage): boolean {
  const isCount = (value: number, max: number) => Number.isSafeInteger(value) && value >= 0 && value <= max
  return (
    isCount(input, TOKENS_MAX) &&
    isCount(output, TOKENS_MAX) &&
    isCount(cached_input, input) &&
    isCount(reasoning, output) &&
    isCount(unlisted, TOKENS_MAX - output)
  )
}

/** Of a model that reasons, or has, what the server's total has beyond the parts is reasoning. Of another it is not charged. */
export function withReasoning(
  { unlisted = 0, ...usage }: TokenUsage,
  { capabilities }: Pick<ChatModelConfig, 'capabilities'>,
  { choices }: Pick<ProducedUsage, 'choices'>,
): TokenUsage {
  const reasons = capabilities.includes('reasoning') || choices.some((choice) => choice.reasoning.length > 0)
  if (unlisted === 0 || !reasons) return usage
  return { ...usage, output: usage.output + unlisted, reasoning: usage.reasoning + unlisted }
}

/**
 * Counts the usage for engines that report none, and for answers that broke off. Usable usage of single choices is used as it is. A request
 * that failed before anything was produced has no usage; one that the client abandoned while the engine worked on it has used its input, of
 * which no engine can have worked on more than the context of its model.
 */
export async function countUsage(
  { request, model, size }: Pick<ExchangeRequest, 'request' | 'model' | 'size'>,
  produced: ProducedUsage,
  is_abandoned: boolean,
): Promise<TokenUsage> {
  const { ended, asked } = produced
  const usages = new Map(
    [...produced.usages]
      .filter(([, usage]) => isUsable(usage))
      .map(([choice, usage]) => [choice, withReasoning(usage, model, produced)]),
  )
  const known = [...usages.values()].reduce(addUsage, NO_USAGE)
  const choices = produced.choices.filter((_, choice) => !usages.has(choice))
  const isUsed = choices.length > 0 || (usages.size < request.n && (ended || (asked && is_abandoned)))
  if (!isUsed) return known
  const most = is_abandoned ? (model.context_length ?? CONTEXT_TOKENS_MAX) : Number.POSITIVE_INFINITY
  const input = Math.min(most, size.counted() ?? (await countInputTokens(request, { most })))
  const counted = { input, cached_input: 0, ...(await countProduced(choices)) }
  return addUsage(known, counted)
}

const NO_USAGE: TokenUsage = { input: 0, cached_input: 0, output: 0, reasoning: 0 }

function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: a.input + b.input,
    cached_input: a.cached_input + b.cached_input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}
