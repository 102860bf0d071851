import { byteBuffer } from './byte-buffer.ts'
import { beginsJson, type JsonEnd, jsonEnd, readJson } from './read/json-end.ts'

/** One event of a stream: its data, with lines joined, and its name, empty when it has none. `bare`: JSON or words without a field before them. */
export type SseEvent = { data: string; name: string; bare: boolean }

/** Longest line, and longest event, in bytes. A real one is a few hundred, one with a picture or a whole answer several MB. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024

export type SseParser = {
  /** Reads a chunk of the socket. Throws RangeError on a line or an event longer than `LINE_BYTES_MAX`. */
  feed(chunk: Buffer): void
  /** Something has waited for a while: an event that is complete without its blank line, or its line break, is read. */
  flush(): void
  /** The body ended; what is left without its last line break is still read. */
  end(): void
  /** Whether there is anything that has not been read. */
  isWaiting(): boolean
}

/**
 * Server-sent events as the HTML standard reads them: LF, CR and CRLF, comments, several `data:` lines, a byte order mark, with reads
 * that end anywhere, inside a character too. `onEvent` is called for every event that has data. Beyond the standard, an event cut off
 * before its blank line still counts, a line `error:` is an event of its own (older llama.cpp), as is a line of words that is no field, and
 * JSON is read by its brackets: it needs no field before it, goes on over lines until its end, and there ends its event, since some servers
 * send no blank lines. A parser by the standard alone, such as eventsource-parser, would be silent until the end of such a stream.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function sseParser(onEvent: (frame: SseEvent) => void): SseParser {
  const rest = byteBuffer()
  const event: PendingEvent = { data: null, name: '', next_name: null, bare: false, json: null }
  let begun = false
  let afterCr = false

  function readText(bytes: string): void {
    let text = bytes
    if (!begun && text !== '') {
      begun = true
      if (text.charCodeAt(0) === BOM) text = text.slice(1)
    }
    if (afterCr) {
      afterCr = false
      if (text.charCodeAt(0) === LF) text = text.slice(1)
    }
    if (text === '') return
    afterCr = text.charCodeAt(text.length - 1) === CR
    readLines(text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text, event, onEvent)
  }

  return {
    feed(chunk) {
      const cut = lastBreak(chunk)
      if (cut < 0) {
        rest.append(chunk)
      } else if (rest.size() === 0) {
        readText(chunk.toString('utf8', 0, cut + 1))
        if (cut + 1 < chunk.length) rest.append(chunk.subarray(cut + 1))
      } else {
        rest.append(chunk.subarray(0, cut + 1))
        readText(rest.view().toString('utf8'))
        rest.clear()
        if (cut + 1 < chunk.length) rest.append(chunk.subarray(cut + 1))
      }
      if (rest.size() > LINE_BYTES_MAX) throw tooLong()
    },
    flush() {
      if (isEnded(event) || isErrorInWords(event)) dispatch(event, onEvent)
      if (!MAY_END.test(rest.view().subarray(-8).toString('latin1'))) return
      const line = rest.view().toString('utf8')
      if (!isEndedBy(event, line)) return
      rest.clear()
      readText(`${line}\n`)
      if (isEnded(event)) dispatch(event, onEvent)
    },
    end() {
      if (rest.size() > 0) readText(`${rest.view().toString('utf8')}\n`)
      rest.clear()
      dispatch(event, onEvent)
    },
    isWaiting: () => event.data !== null || rest.size() > 0,
  }
}

/**
 * `json`: how far the data has been read, once that is asked for. `next_name`: a name that came after the data, and is that of the next
 * event unless a blank line follows.
 */
type PendingEvent = {
  data: string | null
  name: string
  next_name: string | null
  bare: boolean
  json: JsonEnd | null
}

const LF = 10
const CR = 13
const BOM = 0xfeff
const FIELD = /^(data:|error:|\ufeff)/
const MAY_END = /[}\]]\s*$/
/** How JSON without a field begins. A list is one of objects: `[info] loading` is none. */
const BEGINS = /^\s*(\{|\[\s*(\{|$)|\[DONE\])/
const FIELD_OR_COMMENT = /^[a-z_-]*(:|$)/
/** What a further line of JSON may begin with; other lines are fields, comments and words. */
const GOES_ON = /^[\s"{}[\],\dtfn-]/

/** Where the last line break is, or -1. A byte below 128 is never a part of another character in UTF-8. */
function lastBreak(chunk: Buffer): number {
  const last = chunk[chunk.length - 1]
  if (last === LF || last === CR) return chunk.length - 1
  return Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR))
}

/** Reads complete lines; `text` ends with LF and holds no CR. */
function readLines(text: string, event: PendingEvent, onEvent: (frame: SseEvent) => void): void {
  let start = 0
  for (let stop = text.indexOf('\n'); stop >= 0; stop = text.indexOf('\n', start)) {
    if (stop > start) {
      if (stop - start > LINE_BYTES_MAX) throw tooLong()
      readField(text, start, stop, event, onEvent)
    } else if (!event.bare) {
      event.name = event.next_name ?? event.name
      event.next_name = null
      dispatch(event, onEvent)
    }
    start = stop + 1
  }
}

function dispatch(event: PendingEvent, onEvent: (frame: SseEvent) => void): void {
  const { data, name, next_name, bare } = event
  event.data = null
  event.name = next_name ?? ''
  event.next_name = null
  event.bare = false
  event.json = null
  if (data !== null) onEvent({ data, name, bare })
}

function readField(
  text: string,
  start: number,
  stop: number,
  event: PendingEvent,
  onEvent: (frame: SseEvent) => void,
): void {
  if (text.startsWith('data:', start)) {
    const data = valueAt(text, start + 5, stop)
    // Words are an event of their own: JSON would not be read behind them.
    if (event.data !== null && (isEnded(event) || (beginsJson(data) && !isOpen(event)))) dispatch(event, onEvent)
    addLine(event, data)
  } else if (text.startsWith('error:', start)) {
    if (isEnded(event)) dispatch(event, onEvent)
    onEvent({ data: valueAt(text, start + 6, stop), name: 'error', bare: false })
  } else if (text.startsWith('event:', start)) {
    event[event.data === null ? 'name' : 'next_name'] = valueAt(text, start + 6, stop)
  } else if (stop - start === 4 && text.startsWith('data', start)) {
    addLine(event, '')
  } else {
    readBare(text.slice(start, stop), event, onEvent)
  }
}

/** A line without a field: JSON that goes on, or begins, or words. */
function readBare(line: string, event: PendingEvent, onEvent: (frame: SseEvent) => void): void {
  if (isOpen(event)) {
    if (GOES_ON.test(line)) addLine(event, line)
  } else if (BEGINS.test(line)) {
    if (event.data !== null) dispatch(event, onEvent)
    event.bare = true
    addLine(event, line)
  } else if (!FIELD_OR_COMMENT.test(line)) {
    onEvent({ data: line, name: '', bare: true })
  }
  // It has no blank line to wait for.
  if (event.bare && isEnded(event)) dispatch(event, onEvent)
}

function addLine(event: PendingEvent, line: string): void {
  if (event.data === null) {
    event.data = line
  } else if (!isEnded(event)) {
    if (isOpen(event)) readJson(event.json!, line)
    event.data = `${event.data}\n${line}`
    if (event.data.length > LINE_BYTES_MAX) throw tooLong()
  }
}

/** Whether the data is JSON that has come to its end. Each line is read once, and the first only when something follows it. */
function isEnded(event: PendingEvent): boolean {
  if (event.data === null) return false
  if (event.json === null) {
    event.json = jsonEnd()
    if (beginsJson(event.data)) readJson(event.json, event.data)
  }
  return event.json.ended
}

/** Whether the data is JSON whose end has not come. */
function isOpen(event: PendingEvent): boolean {
  return !isEnded(event) && event.json !== null && event.json.depth > 0
}

/** What a server says after `event: error` has no end but silence. */
function isErrorInWords(event: PendingEvent): boolean {
  return event.name === 'error' && event.data !== null && !isOpen(event)
}

/** Whether a line that has no line break yet would be the end of the event, or a complete one. */
function isEndedBy(event: PendingEvent, line: string): boolean {
  const field = FIELD.exec(line)?.[0] ?? ''
  const value = valueAt(line, field.length, line.length)
  const json = isOpen(event) ? { ...event.json! } : jsonEnd()
  if (json.depth === 0 && !beginsJson(value)) return false
  readJson(json, value)
  return json.ended
}

function valueAt(text: string, start: number, stop: number): string {
  return text.slice(text.charCodeAt(start) === 32 ? start + 1 : start, stop)
}

function tooLong(): RangeError {
  return new RangeError('A line of the stream is too long.')
}
