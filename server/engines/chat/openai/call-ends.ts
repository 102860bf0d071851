import type { Dispatcher } from 'undici'
import { EngineError } from '../../engine-error.ts'
import type { ChatEvent } from '../contract.ts'
import type { ReadWords } from '../server-words.ts'
import type { BatchQueue } from './batch-queue.ts'
import type { byteBuffer } from './byte-buffer.ts'
import { givenUp } from './connection-error.ts'
import type { EndTimer } from './end-timer.ts'
import type { CompletionReader } from './read/completion.ts'
import { type ReplyHeaders, statusFault, unreadable } from './read/error.ts'
import type { StreamReader } from './read/stream.ts'
import type { ReplyDecoder } from './reply-decoder.ts'

export type CallTarget = { dispatcher: Pick<Dispatcher, 'dispatch'>; path: string; headers: string[] }

/** `idle_ms`: silence, before the head of a streamed reply and within any body. `total_ms`: what is left for the complete answer. */
export type CompletionCallLimits = { idle_ms: number; total_ms: number }

export type CompletionCallOptions = {
  target: CallTarget
  body: string | readonly Buffer[]
  /** Whether a stream was asked for: a plain answer is silent until it is complete. */
  stream: boolean
  /** How many choices were asked for. */
  choices: number
  reader: CompletionReader
  words: ReadWords
  limits: CompletionCallLimits
  signal: AbortSignal
  /** Called once with how the exchange ended: null for a complete answer, an error, or `aborted` by the caller. */
  onEnd(end: EngineError | 'aborted' | null): void
}

/**
 * `accepted` once the first piece of an answer has been read. `refused` before that, with nothing emitted: `sent` is whether the request
 * may have reached the server.
 */
export type CallOutcome =
  | { accepted: AsyncIterable<readonly ChatEvent[]> }
  | { accepted: null; refused: EngineError; sent: boolean }

/** `head`: of a successful reply nothing but space has come. */
type Mode = 'waiting' | 'head' | 'stream' | 'refusal' | 'done'
/**
 * The body of an answer, also when it is one JSON text. `silence` is set while something has come that is not read. `held` are the
 * chunks that wait for their turn.
 */
export type Stream = {
  queue: BatchQueue
  frames: StreamReader
  timer: EndTimer
  silence: NodeJS.Timeout | undefined
  held: Buffer[]
}
/** The state of one exchange with one server. */
export type CompletionCall = {
  options: CompletionCallOptions
  /** Whose turns it takes to read the answer: reads begin in nobody's name. */
  owner: string
  controller: Dispatcher.DispatchController | null
  mode: Mode
  status: number
  headers: ReplyHeaders
  sent: boolean
  settled: boolean
  /** Bytes after the end of the answer, which are not read. */
  surplus: number
  readonly bytes: ReturnType<typeof byteBuffer>
  /** Set once a body turns out to be compressed, and once a stream has begun. */
  decoder: ReplyDecoder | null
  /** Set once the connection is lost, which the decoder still hands on what has come of. */
  lost: EngineError | null
  stream: Stream | null
  timer: NodeJS.Timeout
  /** Set while a refusal is silent. */
  silence: NodeJS.Timeout | undefined
  onAbort(): void
  resolve(outcome: CallOutcome): void
  reject(reason: unknown): void
}

/** The first piece of an answer has been read. */
export function acceptCall(state: CompletionCall, batches: AsyncIterable<readonly ChatEvent[]>): void {
  if (state.settled) return
  state.settled = true
  state.resolve({ accepted: batches })
}

/** The answer is complete. */
export function finishCall(state: CompletionCall): void {
  close(state)
  state.stream?.queue.end()
  state.options.onEnd(null)
}

/** Nothing more can be read: the connection was lost, or fell silent. */
export function failCall(state: CompletionCall, fault: EngineError): void {
  if (state.mode === 'stream') endEarly(state, state.stream!, fault)
  else settleCall(state, state.mode === 'refusal' ? refusalOf(state) : fault)
}

/** The answer is complete if only its usage, or nothing, was still to come. */
function endEarly(state: CompletionCall, { frames, queue }: Stream, fault: EngineError): void {
  try {
    frames.flush(queue.events)
    if (!frames.done() && frames.missing() === 'answer') throw frames.faultOr(fault)
    frames.cut(queue.events)
  } catch (error) {
    settleCall(state, error instanceof EngineError ? error : unreadable())
    return
  }
  acceptCall(state, queue.batches)
  queue.arrived(0)
  finishCall(state)
  state.controller?.abort(givenUp())
}

/** Ends the call with an error: as a refusal while nothing has been emitted, else after the events that came before it. */
export function settleCall(state: CompletionCall, error: EngineError): void {
  if (state.mode === 'done') return
  close(state)
  if (state.settled) {
    state.stream!.queue.fail(error)
  } else {
    state.settled = true
    state.resolve({ accepted: null, refused: error, sent: state.sent })
  }
  state.options.onEnd(error)
  state.controller?.abort(givenUp())
}

/** The caller gave up: its signal aborted, or it stopped iterating. */
export function cancelCall(state: CompletionCall): void {
  if (state.mode === 'done') return
  close(state)
  const { signal, onEnd } = state.options
  if (state.settled) state.stream!.queue.fail(signal.reason)
  else state.reject(signal.reason)
  onEnd('aborted')
  state.controller?.abort(givenUp())
}

function close(state: CompletionCall): void {
  state.mode = 'done'
  clearTimeout(state.timer)
  clearTimeout(state.silence)
  clearTimeout(state.stream?.silence)
  state.stream?.timer.close()
  state.decoder?.close()
  state.options.signal.removeEventListener('abort', state.onAbort)
}

/** What the status and the body so far say. */
export function refusalOf({ status, headers, bytes, options }: CompletionCall): EngineError {
  return statusFault(status, headers, bytes.view().toString('utf8'), options.words)
}
