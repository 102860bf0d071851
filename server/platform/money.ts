/** Money is a `bigint` of 10⁻⁸ of the currency. */
const UNITS_PER_CURRENCY = 100_000_000n

const DECIMAL = /^(-?)(\d{1,12})(?:\.(\d{1,8}))?$/

/** `"12.5"` to units. Null when the text is not a decimal with at most 8 fraction digits. */
export function parseMoney(text: string): bigint | null {
  const match = DECIMAL.exec(text)
  if (!match) return null
  const units = BigInt(match[2]!) * UNITS_PER_CURRENCY + BigInt((match[3] ?? '').padEnd(8, '0'))
  return match[1] ? -units : units
}

/** For metrics alone: a float, which is exact up to some 90 million of the currency. */
export function asNumber(units: bigint): number {
  return Number(units) / Number(UNITS_PER_CURRENCY)
}

/** Units to a decimal string of 8 fraction digits, or of `digits`, which must lose nothing. */
export function formatMoney(units: bigint, digits = 8): string {
  const sign = units < 0n ? '-' : ''
  const absolute = units < 0n ? -units : units
  const fraction = (absolute % UNITS_PER_CURRENCY).toString().padStart(8, '0')
  if (/[1-9]/.test(fraction.slice(digits))) throw new Error(`amount has more than ${digits} fraction digits`)
  return `${sign}${absolute / UNITS_PER_CURRENCY}.${fraction.slice(0, digits)}`
}
