import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** A place for lines, which are written a little later. */
export type BufferedLines = {
  write(line: string): void
  /** Writes what waits, as far as its reader takes it. */
  flush(): void
}

/** Longest a line waits while the process goes on. */
const FLUSH_MILLISECONDS = 100
/**
 * Most bytes of one write. A pipe takes up to PIPE_BUF bytes as a whole or not at all, so the lines of several processes do not mix.
 * Source: https://man7.org/linux/man-pages/man7/pipe.7.html
 */
const WRITE_BYTES_MAX = 4096
/** Most bytes that wait for a reader; lines beyond are dropped. */
const BUFFER_BYTES_MAX = 4 * 1024 * 1024
/** Before a reader that takes nothing now is tried again: a pipe of 64 KiB passes six megabytes in a second. */
const FULL_MILLISECONDS = 10
/** The same after an error: a reader that is gone, a disk that is full. */
const BROKEN_MILLISECONDS = 1000
/** How long the end of the process waits for a reader: one that takes nothing, and any. */
const EXIT_MILLISECONDS = { stalled: 1000, slow: 5000 }

/** Some lines of which `bytes` bytes are to be written; a Buffer once others are. */
type Chunk = { lines: string | Buffer; bytes: number }

/**
 * Gathers lines and writes them to a file, pipe, socket or terminal: after a tenth of a second, as soon as they fill a write, and at the end
 * of the process. A reader that takes nothing, or is gone, neither blocks the process nor ends it: lines wait for it, up to four mebibytes.
 * Beyond that they are dropped until half of them are written; then `on_dropped` gets how many.
 */
export function bufferLines(inherited: number, on_dropped: (count: number) => void): BufferedLines {
  const fd = withoutBlocking(inherited)
  const waiting: Chunk[] = []
  let bytes_waiting = 0
  let dropped = 0
  let timer: NodeJS.Timeout | null = null
  /** Of the last write. While there is one, only the timer tries again. */
  let error_code: string | null = null

  function flush(): void {
    if (timer) clearTimeout(timer)
    timer = null
    error_code = writeAll()
    if (error_code !== null) flushLater(error_code === 'EAGAIN' ? FULL_MILLISECONDS : BROKEN_MILLISECONDS)
    if (dropped === 0 || bytes_waiting > BUFFER_BYTES_MAX / 2) return
    const count = dropped
    dropped = 0
    on_dropped(count)
  }

  function flushLater(milliseconds: number): void {
    timer ??= setTimeout(flush, milliseconds).unref()
  }

  /** Returns the code of the error that ended it, or null. */
  function writeAll(): string | null {
    for (let chunk = waiting[0]; chunk; chunk = waiting[0]) {
      try {
        const bytes = typeof chunk.lines === 'string' ? writeSync(fd, chunk.lines) : writeSync(fd, chunk.lines)
        bytes_waiting -= bytes
        if (bytes === chunk.bytes) waiting.shift()
        else waiting[0] = { lines: Buffer.from(chunk.lines as string).subarray(bytes), bytes: chunk.bytes - bytes }
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? 'unknown'
      }
    }
    return null
  }

  process.on('exit', () => {
    const began = performance.now()
    let taken = began
    for (;;) {
      const before = bytes_waiting
      flush()
      const now = performance.now()
      if (bytes_waiting < before) taken = now
      const isOver = now - taken > EXIT_MILLISECONDS.stalled || now - began > EXIT_MILLISECONDS.slow
      if (error_code !== 'EAGAIN' || isOver) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_MILLISECONDS)
    }
  })

  return {
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (dropped > 0 || bytes_waiting + bytes > BUFFER_BYTES_MAX) {
        dropped += 1
        return
      }
      bytes_waiting += bytes
      const last = waiting.at(-1)
      if (typeof last?.lines === 'string' && last.bytes + bytes <= WRITE_BYTES_MAX) {
        last.lines += line
        last.bytes += bytes
      } else waiting.push({ lines: line, bytes })
      if (bytes_waiting >= WRITE_BYTES_MAX && error_code === null) flush()
      else flushLater(FLUSH_MILLISECONDS)
    },
    flush,
  }
}

/**
 * The same file, for writes that fail instead of waiting. What an inherited descriptor does is shared by every process that has it, and changes
 * when one of them starts or ends; so a pipe or terminal is opened once more. Where that is not allowed, as with a socket or another user's pipe,
 * it is what Node makes of its standard streams, which do not wait either.
 */
function withoutBlocking(inherited: number): number {
  // A file has no reader to wait for, and its position belongs to the descriptor.
  if (fstatSync(inherited).isFile()) return inherited
  try {
    return openSync(`/dev/fd/${inherited}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return inherited
  }
}
