import { OutboundError } from '../../platform/outbound/error.ts'

/** Errors of packages wrap each other. */
const DEPTH = 5

/** The failure of Kinora's client that a package threw or wrapped; null when the server answered, or was not asked. */
export function outboundBehind(thrown: unknown): OutboundError | null {
  let error = thrown
  for (let depth = 0; depth < DEPTH && error instanceof Error; depth++) {
    if (error instanceof OutboundError) return error
    error = error.cause
  }
  return null
}
