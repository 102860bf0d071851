/** Read and write size of most readers. */
export const CHUNK_BYTES = 256 * 1024
/** A range of a player, in one turn instead of four. */
const LARGE_BYTES = 1024 * 1024
/** For a reader who finds none of the others: half as much processor time again, and little enough for thousands who stop reading. */
const SMALL_BYTES = 32 * 1024
const KEPT_MAX = 32

/** Lends buffers to read into. One that comes back is lent again: to make a new one costs more than to copy what it holds. */
export type ReadBuffers = {
  /** A buffer for up to so many bytes; it may be shorter than that. */
  take(bytes: number): Buffer
  /** `idle`: nothing reads from it any more, so that it can be lent to another. Otherwise it is given up. */
  give(buffer: Buffer, idle: boolean): void
}

type Kind = { bytes: number; max: number; lent: number; kept: Buffer[] }

/** Few are lent at a time, 8 and 32 MiB, since a reader who stops reading keeps one. */
export function readBuffers(): ReadBuffers {
  const large: Kind = { bytes: LARGE_BYTES, max: 8, lent: 0, kept: [] }
  const usual: Kind = { bytes: CHUNK_BYTES, max: 128, lent: 0, kept: [] }
  return {
    take(bytes) {
      const isFree = ({ lent, max }: Kind) => lent < max
      const kind = bytes > CHUNK_BYTES && isFree(large) ? large : bytes > SMALL_BYTES && isFree(usual) ? usual : null
      if (!kind) return Buffer.allocUnsafe(Math.min(bytes, SMALL_BYTES))
      kind.lent += 1
      return kind.kept.pop() ?? Buffer.allocUnsafeSlow(kind.bytes)
    },
    give(buffer, idle) {
      const kind = [large, usual].find(({ bytes }) => bytes === buffer.length)
      if (!kind) return
      kind.lent -= 1
      if (idle && kind.kept.length < KEPT_MAX) kind.kept.push(buffer)
    },
  }
}
