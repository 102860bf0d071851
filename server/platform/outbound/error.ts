/**
 * Why an outgoing request brought no usable reply. `forbidden`: refused by our own rules before anything was sent.
 * `unreachable`: no connection, or one that broke. `unreadable`: a reply that breaks the protocol or its compression.
 */
export type OutboundReason =
  | 'forbidden'
  | 'unreachable'
  | 'timeout'
  | 'aborted'
  | 'too_large'
  | 'unreadable'
  | 'refused'

/** Its message and `code` are fixed texts: never a URL, a credential or a part of a body. */
export class OutboundError extends Error {
  override name = 'OutboundError'
  readonly reason: OutboundReason
  /** The code of the network or protocol error, such as `ECONNREFUSED`; for `refused` the HTTP status. */
  readonly code: string | undefined

  constructor(reason: OutboundReason, message: string, code?: string) {
    super(message)
    this.reason = reason
    this.code = code
  }
}
