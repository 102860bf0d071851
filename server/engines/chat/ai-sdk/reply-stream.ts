import { DONE } from '../../../platform/http/sse.ts'
import { withTimeout } from '../../../platform/timeout.ts'
import { WAIT_MS } from '../openai/end-timer.ts'
import { sseParser } from '../openai/sse-parser.ts'
import { eventWriter } from './event-writer.ts'

export type Pieces = ReadableStreamDefaultReader<Uint8Array>

/**
 * Reads a piece of the body, or null at its end, into what the package is given. `silence_ms`: after so much of it the stream is complete; 0: it
 * is complete already; null: only the end of the body shows.
 */
export type PieceReader = (piece: Uint8Array | null) => { bytes: Uint8Array; silence_ms: number | null }

/** A body of which `begun` has been read, without the rest of one that is complete: packages wait for the end, which may never come. */
export function streamOf(begun: readonly Uint8Array[], rest: Pieces, read: PieceReader): ReadableStream<Uint8Array> {
  const left = [...begun]
  let silence_ms: number | null = null
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const piece = left.shift() ?? (await nextPiece(rest, silence_ms))
        const { bytes, ...next } = read(piece)
        silence_ms = next.silence_ms
        if (bytes.length > 0) controller.enqueue(bytes)
        if (piece === null || silence_ms === 0) {
          controller.close()
          return rest.cancel()
        }
        if (bytes.length > 0) return
      }
    },
    cancel: () => rest.cancel(),
  })
}

/** Null at the end of the body; where all has come but for `silence_ms` of silence, also after that, or when the connection is lost. */
export async function nextPiece(pieces: Pieces, silence_ms: number | null): Promise<Uint8Array | null> {
  if (silence_ms === null) return (await pieces.read()).value ?? null
  const next = pieces.read().then(
    ({ value }) => value ?? null,
    () => null,
  )
  return withTimeout(silence_ms, next, () => null)
}

/** The bytes as they are: those of binary events. */
export function asTheyAre(): PieceReader {
  return (piece) => ({ bytes: piece ?? NONE, silence_ms: null })
}

/**
 * Events, and JSON for each chunk, as the events that packages read: without comments and words, which are the error of a server that says
 * nothing else.
 */
export function asEvents(): PieceReader {
  const written = eventWriter()
  const watch = endWatch()
  let text = ''
  let silence_ms: number | null = null
  const add = (event: string) => {
    text += event
    silence_ms = watch(event)
  }
  const lines = sseParser((event) => add(written.of(event)))
  return (piece) => {
    text = ''
    if (piece === null) {
      lines.end()
      add(written.end())
    } else {
      lines.feed(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      lines.flush()
    }
    return { bytes: Buffer.from(text), silence_ms }
  }
}

const NONE = new Uint8Array()

/**
 * Watches the events of a stream for its end: `[DONE]`, or a reason after an answer has begun, or that its usage has followed. Many reasons need
 * a usage on its own. Within a text of the model the names of members have other quotes around them.
 */
function endWatch(): (event: string) => number | null {
  const seen = { answer: false, reasons: 0, usage: false, no_choices: false, done: false }
  return (event) => {
    for (const { groups } of event.matchAll(MARK)) {
      const { answer, reason, usage, no_choices } = groups!
      if (answer || reason) Object.assign(seen, { usage: false, no_choices: false })
      if (answer) seen.answer = true
      if (reason) seen.reasons += 1
      if (usage) seen.usage = seen.reasons > 0
      if (no_choices) seen.no_choices = true
    }
    seen.done ||= event.endsWith(DONE)
    if (seen.done) return 0
    const isMeant = seen.reasons > 0 && (seen.reasons < REASONS_MAX || seen.no_choices)
    if (isMeant && seen.usage) return WAIT_MS.nothing
    return isMeant && seen.answer ? WAIT_MS.usage : null
  }
}

const MARK =
  /"(?:(?<answer>content|text|arguments)":\s*"[^"]|(?<reason>finish_reason|finishReason)":\s*"[^"]|(?<usage>usage|usageMetadata)":\s*\{|(?<no_choices>choices)":\s*\[\s*\])/g
/** From here on the reasons of a server say nothing: it sends one with every chunk. */
const REASONS_MAX = 3
