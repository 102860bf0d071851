import { asRecord } from '../../../../platform/json/record.ts'
import type { EngineError } from '../../../engine-error.ts'
import type { ChatEvent } from '../../contract.ts'
import { type SseEvent, sseParser } from '../sse-parser.ts'
import type { BodyEnd, CompletionReader, Missing } from './completion.ts'
import { jsonValues, parseLenientJson } from './json-end.ts'

export type StreamReader = {
  /** Reads a piece of the body. Throws EngineError, SyntaxError or RangeError; events read before that stay. */
  feed(chunk: Buffer, events: ChatEvent[]): void
  /** Nothing has come for a while: reads what is complete without its line breaks. Throws likewise. */
  flush(events: ChatEvent[]): void
  /** The body ended. Throws likewise. */
  end(events: ChatEvent[]): void
  /** Ends the answer with what has come: the rest of the body is lost. Throws likewise. */
  cut(events: ChatEvent[]): void
  /** Whether any part of an answer has come. */
  begun(): boolean
  /** Whether the end of the answer has been emitted. */
  done(): boolean
  /** Whether bytes have come that are not read yet. */
  isWaiting(): boolean
  /** What may still come. */
  missing(): Missing
  /** The error that the server gave in place of the rest; otherwise `fault`. */
  faultOr(fault: EngineError): EngineError
}

/**
 * Reads the body of an answer: a stream of events, one JSON text, or one for each chunk, several of which may share a line. Each is parsed
 * once; `[DONE]` or the end of the body ends it. Of what follows `[DONE]` only the usage is read, and only what comes in the same read.
 */
export function streamReader(reader: CompletionReader): StreamReader {
  let sink: ChatEvent[] = []
  let read = 0
  let isBare = false
  let isList = false
  let isMarked = false
  let done = false
  const lines = sseParser((event) => {
    if (done) return
    if (isMarked) return readLate(event)
    isMarked = event.data.startsWith('[DONE]')
    if (isMarked) return
    const object = objectOf(event)
    if (object === null) return readWords(event.data)
    if (object !== undefined) return readObject(object, event)
    for (const each of jsonValues(event.data.replace(MARK_AT_END, ''))) readObject(each, event)
    isMarked = MARK_AT_END.test(event.data)
  })
  const ending = (): BodyEnd => (!isBare || read !== 1 ? 'body' : isList ? 'list' : 'json')

  /** Words are no part of an answer, but may say why there is none. */
  function readWords(words: string): void {
    if (words !== 'null') reader.read({ message: words }, sink)
  }

  function readLate(event: SseEvent): void {
    const { usage } = asRecord(objectOf(event)) ?? {}
    if (usage != null) reader.read({ usage }, sink)
  }

  function readObject(object: unknown, { bare }: SseEvent): void {
    reader.read(object, sink)
    read += 1
    isBare = bare
    isList = Array.isArray(object)
  }

  function finish(by: BodyEnd): void {
    reader.end(sink, by)
    done = true
  }

  /** Nothing that cannot be read after the mark takes back what came before it. */
  function readMarked(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!isMarked) throw error
    }
    if (isMarked && !done) finish('mark')
  }

  return {
    feed(chunk, events) {
      sink = events
      readMarked(() => lines.feed(chunk))
    },
    flush(events) {
      sink = events
      if (!done) readMarked(lines.flush)
    },
    end(events) {
      sink = events
      readMarked(lines.end)
      if (!done) finish(ending())
    },
    cut(events) {
      sink = events
      if (!done) finish(ending())
    },
    begun: () => done || reader.begun(),
    done: () => done,
    isWaiting: lines.isWaiting,
    missing: () => reader.missing(ending()),
    faultOr: reader.faultOr,
  }
}

/** The end of a stream, behind the last object of a line. */
export const MARK_AT_END = /\[DONE\]\s*$/

/** The JSON of an event; null for words, such as those of a ping, and for `null`, undefined for what is not one JSON text. */
function objectOf({ data, name }: SseEvent): unknown {
  if (name === 'error') return errorOf(data)
  const first = data.trimStart()[0]
  if (first !== '{' && first !== '[') return null
  try {
    return parseLenientJson(data)
  } catch {
    return undefined
  }
}

function errorOf(data: string): unknown {
  try {
    const object: unknown = JSON.parse(data)
    return { error: asRecord(object)?.error ?? object ?? {} }
  } catch {
    return { error: { message: data } }
  }
}
