import { ProbeError } from '../probe/probe.ts'

/** Browsers show a frame that asks for less than this for a tenth of a second. */
const FRAME_SECONDS_MIN = 0.02
const FRAME_SECONDS_DEFAULT = 0.1

/** Numbers of at most `max` frames: all of them, or those shown at moments spread evenly over the whole time, the last one included. */
export function spreadFrames(seconds: readonly number[], max: number): number[] {
  if (seconds.length <= max) return seconds.map((_, number) => number)
  const shown = seconds.map((each) => (each < FRAME_SECONDS_MIN ? FRAME_SECONDS_DEFAULT : each))
  const total = shown.reduce((sum, each) => sum + each, 0)
  const chosen = new Set<number>([seconds.length - 1])
  let number = 0
  let until = shown[0]!
  for (let i = 0; i < max - 1; i++) {
    const moment = (total * i) / (max - 1)
    while (until <= moment && number < seconds.length - 1) until += shown[++number]!
    chosen.add(number)
  }
  return [...chosen].sort((a, b) => a - b)
}

/**
 * How long each frame of an animated PNG is shown; null for one that does not move. Throws ProbeError when there are fewer frames than
 * it announces. Source: https://www.w3.org/TR/png-3/#11Ancillary-chunks (acTL, fcTL)
 */
export function animatedPngSeconds(png: Uint8Array): number[] | null {
  const bytes = Buffer.from(png.buffer, png.byteOffset, png.byteLength)
  const seconds: number[] = []
  let announced: number | null = null
  for (let at = 8; at + 12 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at)
    const name = bytes.toString('latin1', at + 4, at + 8)
    if (name === 'acTL' && size >= 8 && at + 12 <= bytes.length) announced = bytes.readUInt32BE(at + 8)
    if (name === 'fcTL' && at + 34 <= bytes.length) {
      const denominator = bytes.readUInt16BE(at + 30) || 100
      seconds.push(bytes.readUInt16BE(at + 28) / denominator)
    }
    if (name === 'IEND') break
    at += 12 + size
  }
  if (announced === null) return null
  if (announced < 1 || seconds.length < announced)
    throw new ProbeError('unreadable', 'The picture has fewer frames than it announces.')
  return seconds
}
