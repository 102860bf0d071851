/** Bytes that arrive in pieces, in one buffer that doubles: a body sent byte by byte costs no more than one sent at once. */
export type ByteBuffer = {
  /** In bytes. */
  size(): number
  append(piece: Buffer): void
  /** Everything so far; valid until the next `append` or `clear`. */
  view(): Buffer
  clear(): void
}

export function byteBuffer(): ByteBuffer {
  let bytes: Buffer = EMPTY
  let used = 0
  /** Whether `bytes` is a caller's piece, which may not be written to. */
  let borrowed = true
  return {
    size: () => used,
    append(piece) {
      if (used === 0) {
        bytes = piece
        used = piece.length
        borrowed = true
        return
      }
      const needed = used + piece.length
      if (borrowed || needed > bytes.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(needed * 2, SIZE_MIN))
        bytes.copy(grown, 0, 0, used)
        bytes = grown
        borrowed = false
      }
      piece.copy(bytes, used)
      used = needed
    },
    view: () => (used === bytes.length ? bytes : bytes.subarray(0, used)),
    clear() {
      bytes = EMPTY
      used = 0
      borrowed = true
    },
  }
}

const EMPTY = Buffer.alloc(0)
const SIZE_MIN = 1024
