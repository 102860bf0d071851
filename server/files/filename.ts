/** Longest name kept, in bytes of UTF-8. Source: docs/api/files.md, filename. */
const FILENAME_BYTES_MAX = 255

/**
 * The name to keep of the one a client sent: its last path segment without control characters, cut at a code point to 255 bytes.
 * Direction overrides go too, for they make a name read as another. Never empty, `.` or `..`.
 */
export function cleanFilename(sent: string | undefined): string {
  const visible = (sent ?? '').toWellFormed().replace(INVISIBLE, '')
  const base = visible.split(/[/\\]/).at(-1)!.trim()
  const name = cutBytes(base, FILENAME_BYTES_MAX).trimEnd()
  return name === '' || name === '.' || name === '..' ? 'file' : name
}

/** Control characters, line and paragraph separators, and the marks that reorder text. */
const INVISIBLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

function cutBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let end = bytesMax
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
