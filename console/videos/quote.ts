/** Digits after the point in every amount; the wire never has more. */
const SCALE = 8

/** Price per second times seconds, as the service will quote it. Exact: no floats. Both are decimal strings. */
export function quote(per_second: string, seconds: number): string {
  return written(unitsOf(per_second) * BigInt(seconds))
}

/** `a − b`, exact. */
export function minus(a: string, b: string): string {
  return written(unitsOf(a) - unitsOf(b))
}

export function isNegative(amount: string): boolean {
  return unitsOf(amount) < 0n
}

/** An amount in units of 10⁻⁸. Throws RangeError for what is no decimal string. */
export function unitsOf(amount: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,8}))?$/.exec(amount) ?? []
  if (whole === undefined) throw new RangeError(`Not an amount: ${amount}`)
  const units = BigInt(whole + fraction.padEnd(SCALE, '0'))
  return sign ? -units : units
}

function written(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(SCALE + 1, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
}
