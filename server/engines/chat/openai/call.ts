import type { Dispatcher } from 'undici'
import { EngineError } from '../../engine-error.ts'
import type { ChatEvent } from '../contract.ts'
import { type BatchQueue, batchQueue, singleBatch } from './batch-queue.ts'
import { byteBuffer } from './byte-buffer.ts'
import { type CompletionReader, incomplete, timedOut, unreadable } from './read/completion.ts'
import { needsOperator, type ReplyHeaders, statusError } from './read/error.ts'
import { streamReader } from './read/stream.ts'

export type CallTarget = { dispatcher: Pick<Dispatcher, 'dispatch'>; path: string; headers: string[] }

/** `idle_ms`: silence, before the head of a streamed reply and within any body. `total_ms`: what is left for the complete answer. */
export type CallLimits = { idle_ms: number; total_ms: number }

export type CallOptions = {
  target: CallTarget
  body: string | readonly Buffer[]
  /** Whether a stream was asked for: a plain answer is silent until it is complete. */
  stream: boolean
  reader: CompletionReader
  limits: CallLimits
  signal: AbortSignal
  /** Called once with how the exchange ended: null for a complete answer, an error, or `aborted` by the caller. */
  onEnd(end: EngineError | 'aborted' | null): void
}

/**
 * `accepted` once the first piece of an answer has been read. `refused` before that, with nothing emitted: `sent` is whether the request
 * may have reached the server, `operator` whether only the operator can mend it.
 */
export type CallOutcome =
  | { accepted: AsyncIterable<readonly ChatEvent[]> }
  | { accepted: null; refused: EngineError; sent: boolean; operator: boolean }

/** One exchange with one server. Rejects only with the reason of `signal`. */
export function call(options: CallOptions): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    const state = openState(options, resolve, reject)
    const { target, body, limits, stream } = options
    state.timer = setTimeout(() => fail(state, timedOut()), limits.total_ms)
    options.signal.addEventListener('abort', state.onAbort)
    target.dispatcher.dispatch(
      {
        method: 'POST',
        path: target.path,
        headers: typeof body === 'string' ? target.headers : [...target.headers, 'content-length', lengthOf(body)],
        // undici takes any iterable, although its types do not allow it.
        body: body as string,
        headersTimeout: stream ? limits.idle_ms : 0,
        bodyTimeout: limits.idle_ms,
      },
      handlerOf(state),
    )
  })
}

function lengthOf(pieces: readonly Buffer[]): string {
  return String(pieces.reduce((sum, { length }) => sum + length, 0))
}

type Mode = 'waiting' | 'stream' | 'plain' | 'refusal' | 'done'

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
  /** Set, like `frames`, once a stream has begun. */
  queue: BatchQueue | null
  frames: ReturnType<typeof streamReader> | null
  timer: NodeJS.Timeout | null
  onAbort(): void
  resolve(outcome: CallOutcome): void
  reject(reason: unknown): void
}

/** A plain answer of 128 choices with logprobs stays below this. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const REFUSAL_BYTES_MAX = 64 * 1024
/** How much of a reply is still taken after its end, so that its connection can be used again. */
const SURPLUS_BYTES_MAX = 4096

function openState(
  options: CallOptions,
  resolve: (outcome: CallOutcome) => void,
  reject: (reason: unknown) => void,
): Call {
  const state: Call = {
    options,
    controller: null,
    mode: 'waiting',
    status: 0,
    headers: {},
    sent: false,
    settled: false,
    surplus: 0,
    bytes: byteBuffer(),
    queue: null,
    frames: null,
    timer: null,
    onAbort: () => cancel(state),
    resolve,
    reject,
  }
  return state
}

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
      guarded(state, () => readBytes(state, chunk))
    },
    onResponseEnd() {
      guarded(state, () => readEnd(state))
    },
    onResponseError(_, error) {
      fail(state, connectionError(state, error))
    },
  }
}

/** What a reader throws ends the call. */
function guarded(state: Call, read: () => void): void {
  try {
    read()
  } catch (error) {
    fail(state, error instanceof EngineError ? error : unreadable())
  }
}

function readHead(state: Call, status: number, headers: ReplyHeaders): void {
  state.status = status
  state.headers = headers
  const encoding = headers['content-encoding']
  const type = headers['content-type']
  const media = typeof type === 'string' ? type.split(';', 1)[0]!.trim().toLowerCase() : ''
  if (status !== 200) {
    state.mode = 'refusal'
  } else if ((encoding !== undefined && encoding !== '' && encoding !== 'identity') || media === 'text/html') {
    fail(state, unreadable())
  } else if (media === 'application/json' || media.endsWith('+json')) {
    state.mode = 'plain'
  } else {
    state.mode = 'stream'
    state.frames = streamReader(state.options.reader)
    state.queue = batchQueue({
      pause: () => state.controller?.pause(),
      resume: () => state.controller?.resume(),
      cancel: () => cancel(state),
    })
  }
}

function readBytes(state: Call, chunk: Buffer): void {
  if (state.mode === 'stream') {
    readStream(state, chunk)
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

function readStream(state: Call, chunk: Buffer): void {
  const frames = state.frames!
  const queue = state.queue!
  try {
    frames.feed(chunk, queue.events)
  } finally {
    if (frames.begun()) accept(state, queue.batches)
    queue.arrived(chunk.length)
  }
  if (frames.done()) finish(state)
}

/** The body is complete. */
function readEnd(state: Call): void {
  const { options, bytes, frames, queue } = state
  if (state.mode === 'stream') {
    frames!.end(queue!.events)
    accept(state, queue!.batches)
    finish(state)
  } else if (state.mode === 'plain') {
    const events: ChatEvent[] = []
    options.reader.read(parseJson(bytes.view()), events)
    options.reader.end(events)
    accept(state, singleBatch(events))
    finish(state)
  } else if (state.mode === 'refusal') {
    const body = parseRefusal(bytes.view())
    settle(state, statusError(state.status, state.headers, body), needsOperator(state.status, body))
  }
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
  state.queue?.end()
  state.options.onEnd(null)
}

/** Nothing more will be read; a reply still arriving is dropped. */
function fail(state: Call, fault: EngineError): void {
  if (state.mode === 'done') return
  if (state.mode === 'stream' && state.options.reader.complete()) finishEarly(state)
  else settle(state, fault, false)
}

/** The connection was lost, or fell silent, when only the usage, or nothing, was still to come. */
function finishEarly(state: Call): void {
  const queue = state.queue!
  state.options.reader.end(queue.events)
  accept(state, queue.batches)
  queue.arrived(0)
  finish(state)
  state.controller?.abort(givenUp())
}

/** Ends the call with an error: as a refusal while nothing has been emitted, else after the events that came before it. */
function settle(state: Call, fault: EngineError, operator: boolean): void {
  close(state)
  if (state.settled) {
    state.queue!.fail(fault)
  } else {
    state.settled = true
    state.resolve({ accepted: null, refused: fault, sent: state.sent, operator })
  }
  state.options.onEnd(fault)
  state.controller?.abort(givenUp())
}

/** The caller gave up: its signal aborted, or it stopped iterating. */
function cancel(state: Call): void {
  if (state.mode === 'done') return
  close(state)
  const { signal, onEnd } = state.options
  if (state.settled) state.queue!.fail(signal.reason)
  else state.reject(signal.reason)
  onEnd('aborted')
  state.controller?.abort(givenUp())
}

function close(state: Call): void {
  state.mode = 'done'
  clearTimeout(state.timer!)
  state.options.signal.removeEventListener('abort', state.onAbort)
}

/** undici's errors name hosts, so only their meaning is kept. */
function connectionError({ sent }: Call, error: Error): EngineError {
  if (!sent) return new EngineError('unreachable', 'The model server cannot be reached.')
  const code = 'code' in error ? error.code : undefined
  return code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' ? timedOut() : incomplete()
}

/** The reason for undici when a reply is given up; nobody sees it. */
function givenUp(): Error {
  return new Error('The request was given up.')
}

function parseJson(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
}

function parseRefusal(bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch {
    return undefined
  }
}
