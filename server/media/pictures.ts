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
