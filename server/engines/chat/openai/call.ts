import type { Dispatcher } from 'undici'
import { codingsOf } from '../../../platform/outbound/decode.ts'
import { nextTurn, takingTurnsAs, turnOwner } from '../../../platform/turns.ts'
import { EngineError } from '../../engine-error.ts'
import { batchQueue } from './batch-queue.ts'
import { byteBuffer } from './byte-buffer.ts'
import {
  acceptCall,
  type CallOutcome,
  type CompletionCall,
  type CompletionCallOptions,
  cancelCall,
  failCall,
  finishCall,
  refusalOf,
  type Stream,
  settleCall,
} from './call-ends.ts'
import { connectionError, givenUp } from './connection-error.ts'
import { endTimer, WAIT_MS } from './end-timer.ts'
import { bodyKind } from './read/body.ts'
import { incomplete, type ReplyHeaders, timedOut, unreadable } from './read/error.ts'
import { streamReader } from './read/stream.ts'
import { type ReplyDecoder, replyDecoder } from './reply-decoder.ts'

/** One exchange with one server. Rejects only with the reason of `signal`. */
export function call(options: CompletionCallOptions): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    const { target, body, limits, stream } = options
    const state: CompletionCall = {
      options,
      owner: turnOwner(),
      resolve,
      reject,
      onAbort: () => cancelCall(state),
      mode: 'waiting',
      status: 0,
      headers: {},
      sent: false,
      settled: false,
      surplus: 0,
      bytes: byteBuffer(),
      controller: null,
      decoder: null,
      lost: null,
      stream: null,
      silence: undefined,
      timer: setTimeout(() => loseRest(state, timedOut()), limits.total_ms),
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

/** How long an event may lack its blank line, or its line break, before it is read without. */
const FLUSH_MS = 200
/**
 * How long all replies of the process are read between two looks at the sockets; what has come beyond that is read in turns. An event of a
 * token takes a hundredth of a millisecond, one of 128 choices with log probabilities two or three.
 */
const READS_MS = 5
/** Servers repeat the request in an error, before or after what they say of it. */
const REFUSAL_BYTES_MAX = 8 * 1024 * 1024
const BLANK_BYTES_MAX = 64 * 1024
/** How much of a reply is still taken after its end, so that its connection can be used again. */
const SURPLUS_BYTES_MAX = 4096

function handlerOf(state: CompletionCall): Dispatcher.DispatchHandler {
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
      state.lost = connectionError(error, state.sent)
      if (state.decoder !== null && state.mode !== 'done') state.decoder.end()
      else loseRest(state, state.lost)
    },
  }
}

/** An error that the server reports ends the call, as does one of its answer; bytes that cannot be read are like a lost connection. */
function guarded(state: CompletionCall, read: () => void): void {
  try {
    read()
  } catch (error) {
    if (error instanceof EngineError) settleCall(state, error)
    else failCall(state, unreadable())
  }
}

/** Nothing more will come; what has come is read. */
function loseRest(state: CompletionCall, fault: EngineError): void {
  if (state.mode === 'stream') guarded(state, () => readHeld(state, state.stream!))
  failCall(state, fault)
}

const sizeOf = (pieces: readonly Buffer[]) => pieces.reduce((sum, { length }) => sum + length, 0)

function readHead(state: CompletionCall, status: number, headers: ReplyHeaders): void {
  state.status = status
  state.headers = headers
  state.mode = status < 300 ? 'head' : 'refusal'
  const codings = codingsOf(headers['content-encoding'])
  if (codings.length > 0) openDecoder(state, codings)
  if (state.mode === 'refusal') watchRefusal(state)
}

function openDecoder(state: CompletionCall, codings: ReturnType<typeof codingsOf>): ReplyDecoder {
  state.decoder = replyDecoder(codings, {
    onData: (piece) => guarded(state, () => readBytes(state, piece)),
    onEnd: () => (state.lost === null ? guarded(state, () => readEnd(state)) : loseRest(state, state.lost)),
    onError: () => loseRest(state, state.lost ?? unreadable()),
    pause: () => state.controller?.pause(),
    resume: () => state.controller?.resume(),
  })
  return state.decoder
}

function readBytes(state: CompletionCall, chunk: Buffer): void {
  if (state.mode === 'stream') {
    readStream(state, state.stream!, chunk)
  } else if (state.mode === 'head') {
    readFirst(state, chunk)
  } else if (state.mode === 'refusal') {
    state.bytes.append(chunk)
    if (state.bytes.size() > REFUSAL_BYTES_MAX) readEnd(state)
    else watchRefusal(state)
  } else {
    state.surplus += chunk.length
    if (state.surplus > SURPLUS_BYTES_MAX) state.controller?.abort(givenUp())
  }
}

/** What a silent server has said of its refusal is all that it says. */
function watchRefusal(state: CompletionCall): void {
  clearTimeout(state.silence)
  state.silence = setTimeout(() => settleCall(state, refusalOf(state)), WAIT_MS.nothing)
}

/** The first bytes decide what the body is: servers and the proxies before them name types that it does not have. */
function readFirst(state: CompletionCall, chunk: Buffer): void {
  const known_blank = state.bytes.size()
  state.bytes.append(chunk)
  const bytes = state.bytes.view()
  const kind = bodyKind(bytes, { known_blank })
  if (kind === 'page' || (kind === null && bytes.length > BLANK_BYTES_MAX)) throw unreadable()
  if (kind === 'gzip' && state.decoder === null) {
    state.bytes.clear()
    openDecoder(state, ['gzip']).write(bytes)
  } else if (kind !== null) {
    state.mode = 'stream'
    state.bytes.clear()
    const flow = state.decoder ?? state.controller!
    const isPaused = () => queue.isPaused() || state.stream!.held.length > 0
    const resume = () => {
      if (!isPaused()) flow.resume()
    }
    const queue = batchQueue({ pause: () => flow.pause(), resume, cancel: () => cancelCall(state) })
    const frames = streamReader(state.options.reader)
    const timer = endTimer(frames, { onSilence: () => failCall(state, timedOut()), isPaused })
    state.stream = { queue, frames, timer, silence: undefined, held: [] }
    readStream(state, state.stream, bytes)
  }
}

/** Reads a chunk, at once or in its turn; null reads what has waited for `FLUSH_MS`. */
function readStream(state: CompletionCall, stream: Stream, chunk: Buffer | null): void {
  if (stream.held.length === 0 && (chunk === null || !readingTime.isSpent())) {
    readNow(state, stream, chunk)
    return
  }
  if (chunk === null || stream.held.push(chunk) > 1) return
  const flow = state.decoder ?? state.controller!
  flow.pause()
  void takingTurnsAs(state.owner, nextTurn).then(() => {
    guarded(state, () => readHeld(state, stream))
    // Also once the answer is complete: its connection serves others.
    if (!stream.queue.isPaused()) flow.resume()
  })
}

/** Reads the chunks that have waited for their turn. */
function readHeld(state: CompletionCall, stream: Stream): void {
  const chunks = stream.held
  stream.held = []
  for (const chunk of chunks) if (state.mode === 'stream') readNow(state, stream, chunk)
}

function readNow(state: CompletionCall, stream: Stream, chunk: Buffer | null): void {
  const { frames, queue, timer } = stream
  const before = queue.events.length
  const since = performance.now()
  try {
    if (chunk === null) frames.flush(queue.events)
    else frames.feed(chunk, queue.events)
  } finally {
    if (frames.begun()) acceptCall(state, queue.batches)
    if (!frames.done() && timer.heard(queue.events.length > before))
      for (let choice = 0; choice < state.options.choices; choice++) queue.events.push({ type: 'finishing', choice })
    queue.arrived(chunk?.length ?? 0)
    readingTime.add(performance.now() - since)
  }
  if (frames.done()) finishCall(state)
  else if (chunk !== null && frames.isWaiting()) stream.silence ??= setTimeout(onSilence, FLUSH_MS, state, stream)
}

/** The time that replies have been read for since the last look at the sockets. The process has one event loop, and so one of it. */
const readingTime = {
  milliseconds: 0,
  isSpent: () => readingTime.milliseconds > READS_MS,
  add(milliseconds: number): void {
    if (readingTime.milliseconds === 0) setImmediate(() => (readingTime.milliseconds = 0))
    readingTime.milliseconds += milliseconds
  },
}

function onSilence(state: CompletionCall, stream: Stream): void {
  stream.silence = undefined
  guarded(state, () => readStream(state, stream, null))
}

/** The body is complete. */
function readEnd(state: CompletionCall): void {
  if (state.mode === 'head') throw incomplete()
  if (state.mode === 'stream') {
    const { frames, queue } = state.stream!
    readHeld(state, state.stream!)
    if (frames.done()) return
    frames.end(queue.events)
    acceptCall(state, queue.batches)
    finishCall(state)
  } else if (state.mode === 'refusal') {
    settleCall(state, refusalOf(state))
  }
}
