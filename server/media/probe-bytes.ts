import { fileTypeFromBuffer } from 'file-type'
import sharp from 'sharp'
import { acceptedType, IMAGE_PIXELS_MAX, ProbeError, type RecognisedType } from './probe.ts'

/** As `recogniseType`, of bytes in memory. */
export async function recogniseBytes(bytes: Uint8Array): Promise<RecognisedType> {
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined)
  return acceptedType(found?.mime.split(';')[0] ?? 'application/octet-stream')
}

/** Reads the header of a picture, decoding nothing. Throws ProbeError `too_large` over 50 megapixels, `unreadable` for a broken one. */
export async function checkPicture(bytes: Uint8Array): Promise<void> {
  try {
    await sharp(bytes, { limitInputPixels: IMAGE_PIXELS_MAX }).metadata()
  } catch (error) {
    const tooLarge = error instanceof Error && /pixel limit/i.test(error.message)
    if (tooLarge) throw new ProbeError('too_large', 'The image has too many pixels.')
    throw new ProbeError('unreadable', 'The image is damaged or incomplete.')
  }
}
