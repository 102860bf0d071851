import { createHash } from 'node:crypto'

/** An id in the place of one that another provider gave to a call: 9 letters and digits, the same for the call and its result. */
export function portableCallId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9)
}
