import { encode } from 'uqr'

/** Modules of white around the code. Source: ISO/IEC 18004:2015, section 6.3.8, https://www.iso.org/standard/62021.html */
export const QUIET_ZONE = 4

/**
 * A text as a QR code of error correction level M: the size in modules, quiet zone included, and one SVG path with a rectangle for every
 * run of dark modules in a row. Null when the text is too long for any code.
 */
export function qrPath(text: string): { size: number; path: string } | null {
  const rows = modulesOf(text)
  if (rows === null) return null
  const runs = rows.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '#' : '.'))
        .join('')
        .matchAll(/#+/g),
    ].map(({ 0: run, index }) => `M${index + QUIET_ZONE} ${y + QUIET_ZONE}h${run.length}v1h-${run.length}z`),
  )
  return { size: rows.length + QUIET_ZONE * 2, path: runs.join('') }
}

function modulesOf(text: string): boolean[][] | null {
  try {
    return encode(text, { ecc: 'M', border: 0, boostEcc: false }).data
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
