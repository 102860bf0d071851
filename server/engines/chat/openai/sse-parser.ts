import { byteBuffer } from './byte-buffer.ts'

/** One event of a stream: its data, with lines joined, and its name, empty when it has none. */
export type SseEvent = { data: string; name: string }

/** Longest line, and longest event, in bytes. A real one is a few hundred, one with a picture or a whole answer several MB. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024

export type SseParser = {
  /** Reads a chunk of the socket. Throws RangeError on a line or an event longer than `LINE_BYTES_MAX`. */
  feed(chunk: Buffer): void
  /** The body ended; what is left without its last line break is still read. */
  end(): void
}

/**
 * Server-sent events as the HTML standard reads them: LF, CR and CRLF, comments, several `data:` lines, a byte order mark, with reads
 * that end anywhere, inside a character too. `onEvent` is called for every event that has data. Beyond the standard, an event cut off
 * before its blank line still counts, a line `error:` is an event of its own (older llama.cpp), as is a line that is an object, and a `data:`
 * line that begins an object after another one that is complete begins an event: some servers send no blank lines. A parser by the standard alone, such as
 * eventsource-parser, would be silent until the end of such a stream.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function sseParser(onEvent: (frame: SseEvent) => void): SseParser {
  const rest = byteBuffer()
  const event: PendingEvent = { data: null, name: '', split_tries: 0 }
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
    end() {
      if (rest.size() > 0) readText(`${rest.view().toString('utf8')}\n`)
      rest.clear()
      readLines('\n', event, onEvent)
    },
  }
}

/** `split_tries`: how many of its lines looked like the beginning of another event. */
type PendingEvent = { data: string | null; name: string; split_tries: number }

/** Each try parses the event so far. Servers without blank lines send each event as one line, or as a few. */
const SPLIT_TRIES_MAX = 4

const LF = 10
const CR = 13
const BOM = 0xfeff

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
    } else {
      dispatch(event, onEvent)
    }
    start = stop + 1
  }
}

function dispatch(event: PendingEvent, onEvent: (frame: SseEvent) => void): void {
  const { data, name } = event
  event.data = null
  event.name = ''
  event.split_tries = 0
  if (data !== null) onEvent({ data, name })
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
    if (event.data !== null && beginsEvent(data) && isSplitBefore(event)) dispatch(event, onEvent)
    event.data = event.data === null ? data : `${event.data}\n${data}`
    if (event.data.length > LINE_BYTES_MAX) throw tooLong()
  } else if (text.startsWith('error:', start)) {
    onEvent({ data: valueAt(text, start + 6, stop), name: 'error' })
  } else if (text.startsWith('event:', start)) {
    event.name = valueAt(text, start + 6, stop)
  } else if (stop - start === 4 && text.startsWith('data', start)) {
    event.data = event.data === null ? '' : `${event.data}\n`
  } else if (text[start] === '{') {
    onEvent({ data: text.slice(start, stop), name: '' })
  }
}

function beginsEvent(data: string): boolean {
  return data.startsWith('{') || data.startsWith('[DONE]')
}

/** Whether the event so far is complete, although no blank line has come. */
function isSplitBefore(event: PendingEvent): boolean {
  if (event.split_tries >= SPLIT_TRIES_MAX) return false
  event.split_tries += 1
  try {
    JSON.parse(event.data!)
    return true
  } catch {
    return false
  }
}

function valueAt(text: string, start: number, stop: number): string {
  return text.slice(text.charCodeAt(start) === 32 ? start + 1 : start, stop)
}

function tooLong(): RangeError {
  return new RangeError('A line of the stream is too long.')
}
