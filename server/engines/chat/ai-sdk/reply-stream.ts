import { asRecord } from '../../../platform/json/record.ts'
import { WAIT_MS } from '../openai/end-timer.ts'
import { jsonValues } from '../openai/read/json-end.ts'
import { MARK_AT_END } from '../openai/read/stream.ts'
import { sseParser } from '../openai/sse-parser.ts'

export type Pieces = ReadableStreamDefaultReader<Uint8Array>

/**
 * Reads a piece of the body, or null at its end, into what the package is given. `silence_ms`: after so much of it the stream is complete; 0: it
 * is complete already; null: only the end of the body shows.
 */
export type Reading = (piece: Uint8Array | null) => { bytes: Uint8Array; silence_ms: number | null }

/** A body of which `begun` has been read, without the rest of one that is complete: packages wait for the end, which may never come. */
export function streamOf(begun: readonly Uint8Array[], rest: Pieces, read: Reading): ReadableStream<Uint8Array> {
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
  const silence = Promise.withResolvers<null>()
  const timer = setTimeout(silence.resolve, silence_ms, null)
  const next = pieces.read().then(
    ({ value }) => value ?? null,
    () => null,
  )
  return await Promise.race([next, silence.promise]).finally(() => clearTimeout(timer))
}

/** The bytes as they are. */
export function asTheyAre(): Reading {
  const watch = endWatch()
  return (piece) => ({ bytes: piece ?? NONE, silence_ms: piece === null ? null : watch(piece) })
}

/** JSON for each chunk as events. */
export function asEvents(): Reading {
  const watch = endWatch()
  let text = ''
  const lines = sseParser(({ data }) => {
    text += eventsOf(data)
  })
  return (piece) => {
    text = ''
    if (piece === null) lines.end()
    else lines.feed(Buffer.from(piece))
    lines.flush()
    const bytes = Buffer.from(text)
    return { bytes, silence_ms: watch(bytes) }
  }
}

export function eventsOf(json: string): string {
  if (json.startsWith('[DONE]')) return 'data: [DONE]\n\n'
  if (!/^\s*[{[]\s*["{}\]]/.test(json)) return ''
  const objects = [...jsonValues(json.replace(MARK_AT_END, ''))].flat()
  const end = MARK_AT_END.test(json) ? 'data: [DONE]\n\n' : ''
  return objects.map((object) => `data: ${JSON.stringify(asChunk(object))}\n\n`).join('') + end
}

/** With a delta in place of a message, which packages do not read in a chunk. */
function asChunk(object: unknown): unknown {
  const { choices } = asRecord(object) ?? {}
  if (!Array.isArray(choices)) return object
  return { ...asRecord(object), choices: choices.map((choice) => ({ delta: asRecord(choice)?.message, ...choice })) }
}

const NONE = new Uint8Array()

/**
 * Watches a stream for its end: `[DONE]`, or a reason after an answer has begun, or that its usage has followed. Many reasons need a usage on its
 * own. Within a text of the model the names of members have other quotes around them.
 */
function endWatch(): (bytes: Uint8Array) => number | null {
  const seen = { answer: false, reasons: 0, usage: false, no_choices: false }
  let rest = '\n'
  return (bytes) => {
    const text = rest + Buffer.from(bytes).toString('latin1')
    let read = 0
    for (const { 0: mark, groups, index } of text.matchAll(MARK)) {
      const { answer, reason, usage, no_choices } = groups!
      if (answer || reason) Object.assign(seen, { usage: false, no_choices: false })
      if (answer) seen.answer = true
      if (reason) seen.reasons += 1
      if (usage) seen.usage = seen.reasons > 0
      if (no_choices) seen.no_choices = true
      read = index + mark.length
    }
    rest = text.slice(Math.max(read, text.length - MARK_LENGTH))
    if (DONE.test(rest)) return 0
    const isMeant = seen.reasons > 0 && (seen.reasons < REASONS_MAX || seen.no_choices)
    if (isMeant && seen.usage) return WAIT_MS.nothing
    return isMeant && seen.answer ? WAIT_MS.usage : null
  }
}

const MARK =
  /"(?:(?<answer>content|text|arguments)": ?"[^"]|(?<reason>finish_reason|finishReason)": ?"[^"]|(?<usage>usage|usageMetadata)": ?\{|(?<no_choices>choices)": ?\[\])/g
const MARK_LENGTH = 32
/** From here on the reasons of a server say nothing: it sends one with every chunk. */
const REASONS_MAX = 3
const DONE = /[\r\n]data: ?\[DONE\]\s*$/
