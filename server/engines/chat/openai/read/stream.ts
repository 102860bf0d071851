import { asRecord } from '../../../../platform/json/record.ts'
import type { ChatEvent } from '../../contract.ts'
import { sseParser } from '../sse-parser.ts'
import type { CompletionReader } from './completion.ts'

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
  const lines = sseParser(({ data, is_error }) => {
    if (done) return
    if (data.startsWith('[DONE]')) return finish()
    if (data.trim() === '') return
    const object: unknown = JSON.parse(data)
    reader.read(is_error ? { error: asRecord(object)?.error ?? object } : object, sink)
    begun = true
  })

  function finish(): void {
    reader.end(sink)
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
      if (!done) finish()
    },
    begun: () => begun,
    done: () => done,
  }
}
