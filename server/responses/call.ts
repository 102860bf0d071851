import type { Meter } from '../billing/meter.ts'
import type { Principal } from '../identity/caller/principal.ts'
import type { ApiError } from '../platform/errors.ts'
import type { Item } from './schema/items.ts'
import type { CreateResponse, ResponseObject } from './schema/response.ts'

/**
 * One event of contract 11.1. `data` is its JSON on one line, `type` and `sequence_number` included: a transport frames it, a store
 * keeps it, nobody writes it twice.
 */
export type ResponseEvent = { type: string; sequence_number: number; data: string }

/** A response that has ended, or one without an answer, and what it was asked: what is stored and what a socket remembers. */
export type EndedResponse = {
  response: ResponseObject
  /** The items of this request alone, in order, each with an id. */
  input: readonly Item[]
}

/** What answering needs beside the context. */
export type ResponseDeps = { meter: Meter }

/** One request for a response, its body checked for everything that does not depend on the model. */
export type ResponseCall = {
  principal: Principal
  request_id: string
  body: CreateResponse
  /** False: no model is asked; the response is completed with empty output and no usage. Sockets alone. */
  generate?: boolean
  /** The whole context of a previous response that the caller holds in memory; null when it holds none of that id. Sockets alone. */
  recall?: (response_id: string) => readonly Item[] | null
  /**
   * The stored response that a background worker goes on with. Its `created` and `queued` were told already: the run begins with
   * `in_progress`, and every failure is an event, not a throw.
   */
  queued?: ResponseObject
  /** Only the whole answer is wanted, so the model need not be asked for pieces. Default false. */
  plain?: boolean
  /** Whether a failure is told by an `error` event before `response.failed`: everywhere but on sockets. Default true. */
  error_event?: boolean
  /**
   * Called once, when the response is `completed` or `incomplete`, before its last event: what it stores is readable the moment that
   * event is told. Default: the response is stored when the request says so. With `queued` it is called for `failed` and `cancelled`
   * too, and what it throws is thrown by `next`.
   */
  keep?(ended: EndedResponse): Promise<void>
}

/**
 * A response under way, whoever carries it: HTTP, plain or streamed, a worker or a socket. `first` are the first events; `next` gives
 * more, and null after the last, which is `response.completed`, `.incomplete` or `.failed`. Once the client has left the events just
 * end, but a worker's end with the response `cancelled`. `response` is the same object throughout, complete after the last event. What
 * was produced is charged, also after `stop`.
 */
export type ResponseRun = EndedResponse & {
  /** The items before `input`: with them and `response.output` they are the context that the next response may continue from. */
  history: readonly Item[]
  /** Types of tools that were not handed to the model, for `x-dropped-tools`. */
  dropped_tools: readonly string[]
  first: readonly ResponseEvent[]
  /** Why the response is `failed`: a plain answer is this error. */
  failure(): ApiError | null
  next(): Promise<readonly ResponseEvent[] | null>
  /** Ends the run wherever it is and charges what was produced. Harmless after the end; call it in every case. */
  stop(): Promise<void>
}
