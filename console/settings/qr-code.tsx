import { qrMatrix } from './qr-matrix.ts'

/** Modules of white around the code. Source: ISO/IEC 18004:2015, section 6.3.8. */
const QUIET_ZONE = 4

/** A text as a QR code, black on white in both themes, so that every camera reads it; nothing when the text is too long for one. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const drawn = draw(text)
  if (drawn === null) return null
  const size = drawn.size + QUIET_ZONE * 2
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="size-52 shrink-0 rounded-lg border border-line"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={drawn.path} fill="#000" />
    </svg>
  )
}

/** Every run of dark modules in a row as one rectangle of one path. */
function draw(text: string): { size: number; path: string } | null {
  const rows = matrixOf(text)
  if (rows === null) return null
  const runs = rows.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '#' : '.'))
        .join('')
        .matchAll(/#+/g),
    ].map(({ 0: run, index }) => `M${index + QUIET_ZONE} ${y + QUIET_ZONE}h${run.length}v1h-${run.length}z`),
  )
  return { size: rows.length, path: runs.join('') }
}

function matrixOf(text: string): boolean[][] | null {
  try {
    return qrMatrix(text)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
