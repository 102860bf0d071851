/** Read and write size of most readers. */
export const CHUNK_BYTES = 256 * 1024
/** A range of a player, in one turn instead of four. There are few, since a reader who stops keeps one. */
const LARGE_BYTES = 1024 * 1024
const LARGE_MAX = 8
const KEPT_MAX = 32
/** Node takes smaller ones from memory that it keeps itself, or they are soon made. */
const SMALL_BYTES = 32 * 1024

/** Lends buffers to read into. One that comes back is lent again: to make a new one costs more than to copy what it holds. */
export type ReadBuffers = {
  /** A buffer for up to so many bytes; it may be shorter than that, and is then used several times. */
  take(bytes: number): Buffer
  /** `idle`: nothing reads from it any more, so that it can be lent to another. Otherwise it is given up. */
  give(buffer: Buffer, idle: boolean): void
}

export function readBuffers(): ReadBuffers {
  const large: Buffer[] = []
  const usual: Buffer[] = []
  let largeLent = 0
  return {
    take(bytes) {
      if (bytes <= SMALL_BYTES) return Buffer.allocUnsafe(Math.max(bytes, 0))
      if (bytes <= CHUNK_BYTES || largeLent === LARGE_MAX) return usual.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES)
      largeLent += 1
      return large.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES)
    },
    give(buffer, idle) {
      if (buffer.length === LARGE_BYTES) largeLent -= 1
      const kept = buffer.length === LARGE_BYTES ? large : buffer.length === CHUNK_BYTES ? usual : null
      if (idle && kept && kept.length < KEPT_MAX) kept.push(buffer)
    },
  }
}
