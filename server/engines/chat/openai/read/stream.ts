import { asRecord } from '../../../../platform/json/record.ts'
import type { ChatEvent } from '../../contract.ts'
import { type SseEvent, sseParser } from '../sse-parser.ts'
import { parseIfJson } from './body.ts'
import type { BodyEnd, CompletionReader } from './completion.ts'

export type StreamReader = {
  /** Reads a piece of the body. Throws EngineError, SyntaxError or RangeError; events read before that stay. */
  feed(chunk: Buffer, events: ChatEvent[]): void
  /** The body ended. Throws likewise. */
  end(events: ChatEvent[]): void
  /** Whether any part of an answer has come. */
  begun(): boolean
  /** Whether the end of the answer has been emitted. */
  done(): boolean
}

/** Reads a streamed answer: every event is parsed once, `[DONE]` or the end of the body ends it. */
export function streamReader(reader: CompletionReader): StreamReader {
  let sink: ChatEvent[] = []
  let begun = false
  let done = false
  const lines = sseParser((event) => {
    if (done) return
    if (event.data.startsWith('[DONE]')) return finish('mark')
    const object = objectOf(event)
    if (object === null) return
    reader.read(object, sink)
    begun = true
  })

  function finish(by: BodyEnd): void {
    reader.end(sink, by)
    done = true
    begun = true
  }

  return {
    feed(chunk, events) {
      sink = events
      try {
        lines.feed(chunk)
      } catch (error) {
        if (!done) throw error
      }
    },
    end(events) {
      sink = events
      lines.end()
      if (!done) finish('body')
    },
    begun: () => begun,
    done: () => done,
  }
}

/** Reads a complete body: one JSON text, or a line of JSON for each chunk. */
export function readWhole(reader: CompletionReader, bytes: Buffer, events: ChatEvent[]): void {
  const object = parseIfJson(bytes)
  if (object !== undefined) {
    reader.read(object, events)
    reader.end(events, 'json')
  } else {
    const lines = streamReader(reader)
    lines.feed(bytes, events)
    if (!lines.done()) lines.end(events)
  }
}

/** The JSON of an event; null for words, such as those of a ping, and for `null`. Throws SyntaxError on JSON that is cut. */
function objectOf({ data, name }: SseEvent): unknown {
  if (name === 'error') return errorOf(data)
  const first = data.trimStart()[0]
  return first === '{' || first === '[' ? JSON.parse(data) : null
}

function errorOf(data: string): unknown {
  try {
    const object: unknown = JSON.parse(data)
    return { error: asRecord(object)?.error ?? object ?? {} }
  } catch {
    return { error: { message: data } }
  }
}
