import type { ChatModel } from '../api/chat-models.ts'
import type { Tokens } from './conversation.ts'

/** Units of 10⁻⁸, as the service counts money. */
const UNITS = 100_000_000n
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

function unitsOf(decimal: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,8}))?$/.exec(decimal) ?? []
  if (whole === undefined) throw new Error(`not an amount: ${decimal}`)
  const units = BigInt(whole) * UNITS + BigInt(fraction.padEnd(8, '0'))
  return sign ? -units : units
}

function decimalOf(units: bigint): string {
  const absolute = units < 0n ? -units : units
  return `${units < 0n ? '-' : ''}${absolute / UNITS}.${(absolute % UNITS).toString().padStart(8, '0')}`
}
