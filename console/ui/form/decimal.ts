/** Digits after the point in every amount; the wire never has more. */
const SCALE = 8

/** An amount, a decimal string, in units of 10⁻⁸ as the service counts money. Exact. Throws RangeError for what is none. */
export function unitsOf(amount: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,8}))?$/.exec(amount) ?? []
  if (whole === undefined) throw new RangeError(`Not an amount: ${amount}`)
  const units = BigInt(whole + fraction.padEnd(SCALE, '0'))
  return sign ? -units : units
}

/** Units of 10⁻⁸ as a decimal string of eight fraction digits. */
export function decimalOf(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(SCALE + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
}
