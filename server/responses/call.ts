import type { Meter } from '../billing/meter.ts'
import type { StorageGate } from '../billing/storage/gate.ts'
import type { Principal } from '../identity/caller/principal.ts'
import type { Lease } from '../platform/http/body/byte-budget.ts'
import type { ContextLengths } from './context/lengths.ts'
import type { Item } from './schema/items.ts'
import type { CreateResponse, ResponseObject } from './schema/response.ts'
import type { JoinConversation, ResponseRecord } from './stored/save.ts'

/** What answering needs beside the context, shared by all requests of a process. */
export type ResponseDeps = {
  meter: Meter
  storage: StorageGate
  lengths: ContextLengths
  /** Called in the transaction that stores a background response, for a conversation that its metadata names. */
  join?: JoinConversation
}

/** One request for a response. Its body has been checked for everything that does not depend on the model. */
export type ResponseCall = {
  principal: Principal
  request_id: string
  body: CreateResponse
  /** What it holds in memory: the conversation it continues is added. */
  lease: Lease
  /** What its answer holds in memory, until it is sent. */
  kept: Lease
  /** False: no model is asked; the response is completed with empty output and no usage. Sockets only. */
  generate?: boolean
  /** The whole context of a previous response and its size as JSON, if the caller has it in memory. Sockets only. */
  cachedContext?: (response_id: string) => { context: readonly Item[]; bytes: number } | null
  /**
   * The stored response that a background consumer answers. Its `created` and `queued` events exist already: the run starts with
   * `in_progress`, and failures are events instead of being thrown.
   */
  queued?: ResponseObject
  /** Aborts together with the run when the client cancels it: the response ends as `cancelled`. Sockets only. */
  cancelled?: AbortSignal
  /** Only the complete answer is wanted, so the model need not stream. Default false. */
  plain?: boolean
  /** Whether an `error` event precedes `response.failed`: everywhere except on sockets. Default true. */
  error_event?: boolean
  /**
   * Called once, when the response is `completed` or `incomplete`, before its last event, so that a client that receives the event can
   * read what was stored. Default: stores the response if the request says so. With `queued` it is also called for `failed` and
   * `cancelled`, and its errors are thrown by `next`.
   */
  save?(record: ResponseRecord): Promise<void>
}
