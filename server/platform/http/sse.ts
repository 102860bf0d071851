import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { recordFirstByte } from './telemetry/metrics.ts'

/** A stream of server-sent events to one client. */
export type EventStream = {
  /** Aborts when the client has left, or was cut off because it does not read. */
  signal: AbortSignal
  /** Sends whole frames, in one write. Resolves when the client keeps up; await it before producing more. */
  write(frames: string | EncodedFrames): Promise<void> | undefined
  end(frames: string): void
}

/** The frame that ends every stream of the OpenAI API, whether it succeeded or not. */
export const DONE = 'data: [DONE]\n\n'

/** Frames for many streams: their bytes, which all of them share, as a chunk of the transfer coding and alone. */
export type EncodedFrames = { chunk: Buffer; text: Buffer }

export function encodeFrames(text: string): EncodedFrames {
  const before = `${Buffer.byteLength(text).toString(16)}\r\n`
  const chunk = Buffer.from(`${before}${text}\r\n`)
  return { chunk, text: chunk.subarray(before.length, -2) }
}

/**
 * Silence of `keepalive_seconds` is broken by a comment, so that proxies keep the connection. A client that takes nothing for
 * `stalled_seconds`, with bytes waiting, is cut off.
 */
export type StreamTiming = { keepalive_seconds: number; stalled_seconds: number }
export const STREAM_TIMING: StreamTiming = { keepalive_seconds: 15, stalled_seconds: 30 }

/**
 * Sends the headers and opens the stream. `left` aborts with the client, also before the first byte. At most one write waits in memory
 * for a client that does not read: the producer waits with it.
 */
export function openEventStream(
  reply: FastifyReply,
  left: AbortController,
  { keepalive_seconds, stalled_seconds }: StreamTiming = STREAM_TIMING,
): EventStream {
  const { raw } = reply
  const headers = reply.getHeaders() as Record<string, string>
  reply.hijack()
  raw.writeHead(200, { ...headers, ...HEADERS })
  const { metrics } = reply.server
  if (metrics) recordFirstByte(metrics, reply.request, reply)
  const shared = raw.chunkedEncoding ? 'chunk' : 'text'
  const framed = frameChunks(raw)
  let isQuiet = true
  let hasBegun = false
  /**
   * Node sends the headers with the first chunk. Those after it go to the socket itself: the response would hold each back until the end of
   * the turn. While the answer waits behind another of its connection it has no socket.
   */
  const target = (): Writable => (hasBegun ? (raw.socket ?? raw) : raw)
  const write = (chunk: string | Buffer): Writable | undefined => {
    const out = target()
    hasBegun = true
    return out.write(chunk) || raw.destroyed ? undefined : out
  }
  // Twice as often as silence may last, so that no write has to move a timer.
  const keepalive = setInterval(() => {
    if (isQuiet && !target().writableNeedDrain) write(framed(': keepalive\n\n'))
    isQuiet = true
  }, keepalive_seconds * 500)
  // A client that left before this has closed already.
  if (raw.destroyed || left.signal.aborted) clearInterval(keepalive)
  else raw.once('close', () => clearInterval(keepalive))
  const cutOffLater = () =>
    setTimeout(() => {
      left.abort()
      raw.destroy()
    }, stalled_seconds * 1000)
  return {
    signal: left.signal,
    write(frames) {
      isQuiet = false
      const full = write(typeof frames === 'string' ? framed(frames) : frames[shared])
      return full && drained(full, left.signal, cutOffLater())
    },
    end(frames) {
      clearInterval(keepalive)
      raw.end(framed(frames, LAST_CHUNK))
      if (raw.writableLength === 0 || raw.destroyed) return
      const stalled = cutOffLater()
      raw.once('close', () => clearTimeout(stalled))
    },
  }
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

const LAST_CHUNK = '0\r\n\r\n'

/**
 * Writes the chunks of the transfer coding here, around the text: Node would hand the socket four pieces for each. A client of HTTP/1.0
 * gets the text alone.
 */
function frameChunks(raw: FastifyReply['raw']): (text: string, after?: string) => string {
  if (!raw.chunkedEncoding) return (text) => text
  raw.chunkedEncoding = false
  return (text, after = '') => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n${after}`
}

async function drained(out: Writable, left: AbortSignal, stalled: NodeJS.Timeout): Promise<void> {
  try {
    await once(out, 'drain', { signal: left })
  } catch {
    // The client has left; the producer sees it by the signal.
  } finally {
    clearTimeout(stalled)
  }
}
