import { decimalOf, unitsOf } from '../../ui/form/decimal.ts'

/** Price per second times seconds, as the service will quote it. Exact: no floats. Both are decimal strings. */
export function quote(per_second: string, seconds: number): string {
  return decimalOf(unitsOf(per_second) * BigInt(seconds))
}

/** `a − b`, exact. */
export function minus(a: string, b: string): string {
  return decimalOf(unitsOf(a) - unitsOf(b))
}

export function isNegative(amount: string): boolean {
  return unitsOf(amount) < 0n
}
