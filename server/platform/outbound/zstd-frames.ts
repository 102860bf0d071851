/**
 * The bytes of a zstd body in pieces of which none goes on after the end of a frame. Node's decoder drops the rest of a piece in which a frame
 * ends, and with it the frames that follow. Source: https://www.rfc-editor.org/rfc/rfc8878#section-3.1
 * `few`: throws an error of code TOO_MANY_FRAMES for more than FREE_FRAMES that are shorter than FRAME_BYTES on average, and for blocks likewise.
 */
export async function* splitFrames(body: AsyncIterable<Buffer>, { few }: { few: boolean }): AsyncGenerator<Buffer> {
  const fields = frameFields()
  let field = fields.next().value
  let seen: Buffer = EMPTY
  let framesLeft = FREE_FRAMES
  let blocksLeft = FREE_BLOCKS
  for await (const piece of body) {
    framesLeft += piece.length / FRAME_BYTES
    blocksLeft += piece.length / BLOCK_BYTES
    let from = 0
    for (let at = 0; at < piece.length; ) {
      const end = Math.min(at + field.bytes, piece.length)
      field.bytes -= end - at
      if (field.is_read)
        seen = seen.length === 0 ? piece.subarray(at, end) : Buffer.concat([seen, piece.subarray(at, end)])
      at = end
      while (field.bytes === 0) {
        if (field.ends === 'block') blocksLeft -= 1
        if (field.ends === 'frame') framesLeft -= 1
        if (few && (framesLeft < 0 || blocksLeft < 0))
          throw Object.assign(new Error('too many zstd frames'), { code: TOO_MANY_FRAMES })
        if (field.ends === 'frame') {
          if (from < at) yield piece.subarray(from, at)
          from = at
        }
        field = fields.next(seen).value
        seen = EMPTY
      }
    }
    if (from < piece.length) yield piece.subarray(from)
  }
}

export const TOO_MANY_FRAMES = 'ZSTD_too_many_frames'
/** A frame takes some 40 µs, however short it is. */
const FREE_FRAMES = 100
const FRAME_BYTES = 16_384
/** Writers begin a block when they flush. One of nothing has 3 bytes, of which a read brings 21,845: 6 to 33 ms in one turn of the event loop. */
const FREE_BLOCKS = 2000
const BLOCK_BYTES = 32

/** Bytes that follow, all of which belong together. `is_read`: the layout depends on them. */
type Field = { bytes: number; is_read: boolean; ends: 'block' | 'frame' | null }

const EMPTY = Buffer.alloc(0)
const read = (bytes: number): Field => ({ bytes, is_read: true, ends: null })
const skip = (bytes: number, ends: Field['ends'] = null): Field => ({ bytes, is_read: false, ends })

/** The layout of frame after frame. What is no frame has one field without an end: the decoder will reject it. */
function* frameFields(): Generator<Field, Field, Buffer> {
  for (;;) {
    const magic = (yield read(4)).readUInt32LE()
    if (magic >>> 4 === SKIPPABLE) {
      yield skip((yield read(4)).readUInt32LE())
    } else if (magic === FRAME) {
      const descriptor = (yield read(1))[0]!
      const isSingle = (descriptor >> 5) & 1
      const content_size = descriptor >> 6 === 0 ? isSingle : 1 << (descriptor >> 6)
      yield skip(1 - isSingle + [0, 1, 2, 4][descriptor & 3]! + content_size)
      for (let isLast = false; !isLast; ) {
        const block = (yield read(3)).readUIntLE(0, 3)
        isLast = (block & 1) === 1
        yield skip(((block >> 1) & 3) === REPEATED_BYTE ? 1 : block >> 3, 'block')
      }
      yield skip((descriptor >> 2) & 1 ? 4 : 0)
    } else yield skip(Number.POSITIVE_INFINITY)
    yield skip(0, 'frame')
  }
}

const FRAME = 0xfd2fb528
const SKIPPABLE = 0x184d2a5
/** The kind of block that has one byte, whatever its size. */
const REPEATED_BYTE = 1
