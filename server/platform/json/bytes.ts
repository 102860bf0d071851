import { turnTaker } from '../turns.ts'

/** Looked at in less than a millisecond. */
const SLICE_BYTES = 1024 * 1024

/** Bytes in slices, each to the beginning of a character where they are UTF-8. */
export function* utf8Slices(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + SLICE_BYTES, bytes.length)
    for (let i = 0; i < 3 && to < bytes.length && (bytes[to]! & 0xc0) === 0x80; i++) to += 1
    yield bytes.subarray(from, to)
    from = to
  }
}

/** One run of bytes of its pieces, put together with other work between, until `signal` aborts. */
export async function joinInTurns(pieces: readonly Buffer[], signal?: AbortSignal): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0))
  const turn = turnTaker(16, signal)
  let at = 0
  for (const piece of pieces) {
    at += piece.copy(bytes, at)
    const other = turn()
    if (other) await other
  }
  return bytes
}
