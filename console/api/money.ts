/** Fraction digits of every amount; the API never has more. */
const SCALE = 8

/** A decimal string in units of 10⁻⁸, as the service counts money. Exact. Throws RangeError when it is not an amount. */
export function unitsOf(amount: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,8}))?$/.exec(amount) ?? []
  if (whole === undefined) throw new RangeError(`Not an amount: ${amount}`)
  const units = BigInt(whole + fraction.padEnd(SCALE, '0'))
  return sign ? -units : units
}

/** Units of 10⁻⁸ as a decimal string with eight fraction digits. */
function decimalOf(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(SCALE + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
}

/** `a + b`, exact. */
export function add(a: string, b: string): string {
  return decimalOf(unitsOf(a) + unitsOf(b))
}

/** `a − b`, exact. */
export function subtract(a: string, b: string): string {
  return decimalOf(unitsOf(a) - unitsOf(b))
}

/** `amount × count`, exact: a price per second times seconds is the quote of the service. */
export function multiply(amount: string, count: number): string {
  return decimalOf(unitsOf(amount) * BigInt(count))
}

/** What tokens cost at prices for a million, rounded up to the next unit, as the service does. Cached input is part of the input. */
export function priceOfTokens(
  prices: Record<'input_per_million' | 'cached_input_per_million' | 'output_per_million', string>,
  tokens: { input: number; cached_input: number; output: number },
): string {
  const millionths =
    unitsOf(prices.input_per_million) * BigInt(tokens.input - tokens.cached_input) +
    unitsOf(prices.cached_input_per_million) * BigInt(tokens.cached_input) +
    unitsOf(prices.output_per_million) * BigInt(tokens.output)
  return decimalOf((millionths + 999_999n) / 1_000_000n)
}

export function isNegative(amount: string): boolean {
  return unitsOf(amount) < 0n
}
