import { open, readFile } from 'node:fs/promises'

/**
 * A decoded picture may have this many pixels; the header is rejected beyond it. Sensors that phone makers call 50 megapixels have up to
 * 8192 × 6144; decoded, that is 150 MB.
 */
export const IMAGE_PIXELS_MAX = 8192 * 6144

/**
 * How every picture of a customer is decoded. Some phones write a zeroed scan header, for which the decoder only warns, and which every
 * viewer shows; errors and a missing part still fail.
 */
export const PICTURE = { limitInputPixels: IMAGE_PIXELS_MAX, failOn: 'error' } as const

const JPEG_START = 0xffd8
const JPEG_END = Buffer.from([0xff, 0xd9])

/** What to give to the decoder for a picture: its path, or the bytes of a JPEG that lacks its end mark, with it. */
export async function decodable(path: string): Promise<string | Buffer> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const marks = Buffer.alloc(4)
    await file.read(marks, 0, 2, 0)
    if (size < 4 || marks.readUInt16BE(0) !== JPEG_START) return path
    await file.read(marks, 2, 2, size - 2)
    if (marks.subarray(2).equals(JPEG_END)) return path
  } finally {
    await file.close()
  }
  return Buffer.concat([await readFile(path), JPEG_END])
}

/** An animation may have this many frames, with the extensions between those of a GIF. The decoder of WebP reads headers in time that is quadratic in them: 150,000 take it seconds. */
const FRAMES_MAX = 10_000

/** Whether a GIF or WebP has more than `FRAMES_MAX` frames, by the lengths of its parts alone. */
export function hasTooManyFrames(bytes: Uint8Array): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.toString('latin1', 0, 4) === 'GIF8') return passes(framesOfGif(view))
  return view.toString('latin1', 8, 12) === 'WEBP' && passes(framesOfWebp(view))
}

function passes(frames: Generator<void>): boolean {
  for (let count = 0; !frames.next().done; ) if (++count > FRAMES_MAX) return true
  return false
}

/** Source: https://developers.google.com/speed/webp/docs/riff_container */
function* framesOfWebp(bytes: Buffer): Generator<void> {
  for (let at = 12; at + 8 <= bytes.length; ) {
    if (bytes.toString('latin1', at, at + 4) === 'ANMF') yield
    const length = bytes.readUInt32LE(at + 4)
    at += 8 + length + (length % 2)
  }
}

/** Source: https://www.w3.org/Graphics/GIF/spec-gif89a.txt */
function* framesOfGif(bytes: Buffer): Generator<void> {
  const tableBytes = (flags: number) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)
  for (let at = 13 + tableBytes(bytes[10] ?? 0); at < bytes.length; ) {
    const block = bytes[at]
    if (block === IMAGE_BLOCK) at += 11 + tableBytes(bytes[at + 9] ?? 0)
    else if (block === EXTENSION_BLOCK) at += 2
    else return
    yield
    while (bytes[at]) at += 1 + bytes[at]!
    at += 1
  }
}

const IMAGE_BLOCK = 0x2c
const EXTENSION_BLOCK = 0x21
