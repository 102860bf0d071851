import type { Dispatcher } from 'undici'
import { codingsOf } from '../../../platform/outbound/decode.ts'
import { EngineError } from '../../engine-error.ts'
import type { ChatEvent } from '../contract.ts'
import type { ReadWords } from '../server-words.ts'
import { type BatchQueue, batchQueue, singleBatch } from './batch-queue.ts'
import { byteBuffer } from './byte-buffer.ts'
import { connectionError, givenUp } from './connection-error.ts'
import { type EndTimer, endTimer } from './end-timer.ts'
import { bodyKind, parseIfJson } from './read/body.ts'
import { type CompletionReader, incomplete, timedOut, unreadable } from './read/completion.ts'
import { type ReplyHeaders, statusFault } from './read/error.ts'
import { readWhole, streamReader } from './read/stream.ts'
import { type ReplyDecoder, replyDecoder } from './reply-decoder.ts'

export type CallTarget = { dispatcher: Pick<Dispatcher, 'dispatch'>; path: string; headers: string[] }

/** `idle_ms`: silence, before the head of a streamed reply and within any body. `total_ms`: what is left for the complete answer. */
export type CallLimits = { idle_ms: number; total_ms: number }

export type CallOptions = {
  target: CallTarget
  body: string | readonly Buffer[]
  /** Whether a stream was asked for: a plain answer is silent until it is complete. */
  stream: boolean
  /** How many choices were asked for. */
  choices: number
  reader: CompletionReader
  words: ReadWords
  limits: CallLimits
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

/** One exchange with one server. Rejects only with the reason of `signal`. */
export function call(options: CallOptions): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    const { target, body, limits, stream } = options
    const state: Call = {
      ...{ options, resolve, reject, onAbort: () => cancel(state) },
      ...{ mode: 'waiting', status: 0, headers: {}, sent: false, settled: false, surplus: 0, bytes: byteBuffer() },
      ...{ controller: null, decoder: null, stream: null },
      timer: setTimeout(() => fail(state, timedOut()), limits.total_ms),
    }
    options.signal.addEventListener('abort', state.onAbort)
    target.dispatcher.dispatch(
      {
        method: 'POST',
        path: target.path,
        headers: typeof body === 'string' ? target.headers : [...target.headers, 'content-length', `${sizeOf(body)}`],
        // undici takes any iterable, although its types do not allow it.
        body: body as string,
        headersTimeout: stream ? limits.idle_ms : 0,
        bodyTimeout: limits.idle_ms,
      },
      handlerOf(state),
    )
  })
}

/** `head`: of a successful reply nothing but space has come. */
type Mode = 'waiting' | 'head' | 'stream' | 'plain' | 'refusal' | 'done'
type Stream = { queue: BatchQueue; frames: ReturnType<typeof streamReader>; timer: EndTimer }
type Call = {
  options: CallOptions
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
  stream: Stream | null
  timer: NodeJS.Timeout
  onAbort(): void
  resolve(outcome: CallOutcome): void
  reject(reason: unknown): void
}

/** A plain answer of 128 choices with logprobs stays below this. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const REFUSAL_BYTES_MAX = 64 * 1024
/** How much of a reply is still taken after its end, so that its connection can be used again. */
const SURPLUS_BYTES_MAX = 4096

function handlerOf(state: Call): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      state.controller = controller
      if (state.mode === 'done') return controller.abort(givenUp())
      state.sent = true
    },
    onResponseStart(_, status, headers) {
      if (status >= 200 && state.mode === 'waiting') readHead(state, status, headers)
    },
    onResponseData(_, chunk) {
      if (state.decoder !== null && state.mode !== 'done') state.decoder.write(chunk)
      else guarded(state, () => readBytes(state, chunk))
    },
    onResponseEnd() {
      if (state.decoder !== null && state.mode !== 'done') state.decoder.end()
      else guarded(state, () => readEnd(state))
    },
    onResponseError(_, error) {
      fail(state, connectionError(error, state.sent))
    },
  }
}

/** An error that the server reports ends the call, as does one of its answer; bytes that cannot be read are like a lost connection. */
function guarded(state: Call, read: () => void): void {
  try {
    read()
  } catch (error) {
    if (error instanceof EngineError) settle(state, error)
    else fail(state, unreadable())
  }
}

const sizeOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, { length }) => sum + length, 0)

function readHead(state: Call, status: number, headers: ReplyHeaders): void {
  state.status = status
  state.headers = headers
  state.mode = status < 300 ? 'head' : 'refusal'
  const codings = codingsOf(headers['content-encoding'])
  if (codings.length > 0) openDecoder(state, codings)
}

function openDecoder(state: Call, codings: ReturnType<typeof codingsOf>): ReplyDecoder {
  state.decoder = replyDecoder(codings, {
    onData: (piece) => guarded(state, () => readBytes(state, piece)),
    onEnd: () => guarded(state, () => readEnd(state)),
    onError: () => fail(state, unreadable()),
    pause: () => state.controller?.pause(),
    resume: () => state.controller?.resume(),
  })
  return state.decoder
}

function readBytes(state: Call, chunk: Buffer): void {
  if (state.mode === 'stream') {
    readStream(state, state.stream!, chunk)
  } else if (state.mode === 'head') {
    readFirst(state, chunk)
  } else if (state.mode === 'plain') {
    state.bytes.append(chunk)
    if (state.bytes.size() > BODY_BYTES_MAX) throw unreadable()
  } else if (state.mode === 'refusal') {
    state.bytes.append(chunk)
    if (state.bytes.size() > REFUSAL_BYTES_MAX) readEnd(state)
  } else {
    state.surplus += chunk.length
    if (state.surplus > SURPLUS_BYTES_MAX) state.controller?.abort(givenUp())
  }
}

/** The first bytes decide what the body is: servers and the proxies before them name types that it does not have. */
function readFirst(state: Call, chunk: Buffer): void {
  const known_blank = state.bytes.size()
  state.bytes.append(chunk)
  const bytes = state.bytes.view()
  const kind = bodyKind(bytes, { known_blank })
  if (kind === 'page' || (kind === null && bytes.length > REFUSAL_BYTES_MAX)) throw unreadable()
  if (kind === 'json') {
    state.mode = 'plain'
  } else if (kind === 'gzip' && state.decoder === null) {
    state.bytes.clear()
    openDecoder(state, ['gzip']).write(bytes)
  } else if (kind !== null) {
    state.mode = 'stream'
    state.bytes.clear()
    const flow = state.decoder ?? state.controller!
    const queue = batchQueue({ pause: () => flow.pause(), resume: () => flow.resume(), cancel: () => cancel(state) })
    const silence = { onSilence: () => fail(state, timedOut()), isPaused: queue.isPaused }
    const { reader } = state.options
    state.stream = { queue, frames: streamReader(reader), timer: endTimer(reader, silence) }
    readStream(state, state.stream, bytes)
  }
}

function readStream(state: Call, { frames, queue, timer }: Stream, chunk: Buffer): void {
  const before = queue.events.length
  try {
    frames.feed(chunk, queue.events)
  } finally {
    if (frames.begun()) accept(state, queue.batches)
    if (!frames.done() && timer.heard(queue.events.length > before))
      for (let choice = 0; choice < state.options.choices; choice++) queue.events.push({ type: 'finishing', choice })
    queue.arrived(chunk.length)
  }
  if (frames.done()) finish(state)
}

/** The body is complete. */
function readEnd(state: Call): void {
  const { options, bytes } = state
  if (state.mode === 'head') throw incomplete()
  if (state.mode === 'stream') {
    const { frames, queue } = state.stream!
    frames.end(queue.events)
    accept(state, queue.batches)
    finish(state)
  } else if (state.mode === 'plain') {
    const events: ChatEvent[] = []
    readWhole(options.reader, bytes.view(), events)
    accept(state, singleBatch(events))
    finish(state)
  } else if (state.mode === 'refusal') {
    settle(state, refusalOf(state))
  }
}

/** What the status and the body so far say. */
function refusalOf({ status, headers, bytes, options }: Call): EngineError {
  return statusFault(status, headers, parseIfJson(bytes.view()), options.words)
}

/** The first piece of an answer has been read. */
function accept(state: Call, batches: AsyncIterable<readonly ChatEvent[]>): void {
  if (state.settled) return
  state.settled = true
  state.resolve({ accepted: batches })
}

/** The answer is complete. */
function finish(state: Call): void {
  close(state)
  state.stream?.queue.end()
  state.options.onEnd(null)
}

/** Nothing more can be read: the connection was lost, or fell silent. */
function fail(state: Call, fault: EngineError): void {
  if (state.mode === 'stream' && state.options.reader.missing() !== 'answer') finishEarly(state, state.stream!)
  else settle(state, state.mode === 'refusal' ? refusalOf(state) : fault)
}

/** Only the usage, or nothing, was still to come. */
function finishEarly(state: Call, { queue }: Stream): void {
  try {
    state.options.reader.end(queue.events, 'body')
  } catch (error) {
    settle(state, error instanceof EngineError ? error : unreadable())
    return
  }
  accept(state, queue.batches)
  queue.arrived(0)
  finish(state)
  state.controller?.abort(givenUp())
}

/** Ends the call with an error: as a refusal while nothing has been emitted, else after the events that came before it. */
function settle(state: Call, error: EngineError): void {
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
function cancel(state: Call): void {
  if (state.mode === 'done') return
  close(state)
  const { signal, onEnd } = state.options
  if (state.settled) state.stream!.queue.fail(signal.reason)
  else state.reject(signal.reason)
  onEnd('aborted')
  state.controller?.abort(givenUp())
}

function close(state: Call): void {
  state.mode = 'done'
  clearTimeout(state.timer)
  state.stream?.timer.close()
  state.decoder?.close()
  state.options.signal.removeEventListener('abort', state.onAbort)
}
