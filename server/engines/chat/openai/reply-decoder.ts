import { PassThrough } from 'node:stream'
import { type codingsOf, decodeChunks } from '../../../platform/outbound/decode.ts'

/** Decodes a compressed body as it comes, although nobody asked for one. */
export type ReplyDecoder = {
  write(chunk: Buffer): void
  /** The body ended, or its connection was lost: what has come is still handed on. */
  end(): void
  /** Nothing is handed on until `resume`. */
  pause(): void
  resume(): void
  /** Drops what has not been handed on. */
  close(): void
}

type Codings = ReturnType<typeof codingsOf>

/**
 * `onData` is called with each piece, `onEnd` after the last one, `onError` when the body cannot be decoded; `pause` and `resume` are for the
 * socket.
 */
export function replyDecoder(
  codings: Codings,
  to: { onData(piece: Buffer): void; onEnd(): void; onError(): void; pause(): void; resume(): void },
): ReplyDecoder {
  const raw = new PassThrough()
  let resumed: PromiseWithResolvers<void> | null = null
  let closed = false
  raw.on('drain', () => to.resume())

  async function run(): Promise<void> {
    try {
      for await (const piece of decodeChunks(raw, codings, { may_break_off: true })) {
        while (resumed !== null) await resumed.promise
        if (closed) return
        to.onData(piece)
      }
      if (!closed) to.onEnd()
    } catch {
      if (!closed) to.onError()
    }
  }
  void run()

  return {
    write(chunk) {
      if (!closed && !raw.write(chunk)) to.pause()
    },
    end: () => void raw.end(),
    pause() {
      resumed ??= Promise.withResolvers()
    },
    resume() {
      resumed?.resolve()
      resumed = null
    },
    close() {
      closed = true
      resumed?.resolve()
      resumed = null
      raw.destroy()
      // It may be paused for `raw`, and a connection that is not read stays open.
      to.resume()
    },
  }
}
