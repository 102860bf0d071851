import type { ChatModel } from '../../api/chat-models.ts'
import { decimalOf, unitsOf } from '../../ui/form/decimal.ts'
import type { Tokens } from './conversation.ts'

const MILLION = 1_000_000n

/**
 * What an answer costs, as a decimal string of eight fraction digits: the very sum the service charges, rounded up to the next
 * unit. Source: docs/api/chat.md, Price.
 */
export function costOf(tokens: Tokens, pricing: ChatModel['pricing']): string {
  const { input, cached_input, output } = tokens
  const millionths =
    unitsOf(pricing.input_per_million) * BigInt(input - cached_input) +
    unitsOf(pricing.cached_input_per_million) * BigInt(cached_input) +
    unitsOf(pricing.output_per_million) * BigInt(output)
  return decimalOf((millionths + MILLION - 1n) / MILLION)
}

/** The exact sum of two decimal strings. */
export function addMoney(a: string, b: string): string {
  return decimalOf(unitsOf(a) + unitsOf(b))
}
