import { qrPath } from './qr-path.ts'

/** A text as a QR code, black on white in both themes, so that every camera reads it; nothing when the text is too long for one. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const drawn = qrPath(text)
  if (drawn === null) return null
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${drawn.size} ${drawn.size}`}
      shapeRendering="crispEdges"
      className="size-52 shrink-0 rounded-lg border border-line"
    >
      <rect width={drawn.size} height={drawn.size} fill="#fff" />
      <path d={drawn.path} fill="#000" />
    </svg>
  )
}
