import { turnTaker } from './turns.ts'

/** One run of bytes of its pieces, put together with other work between. */
export async function joinInTurns(pieces: readonly Buffer[]): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0))
  const turn = turnTaker(16)
  let at = 0
  for (const piece of pieces) {
    at += piece.copy(bytes, at)
    const other = turn()
    if (other) await other
  }
  return bytes
}
