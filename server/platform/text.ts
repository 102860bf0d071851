/** True when `text` holds U+0000 or half of a surrogate pair: PostgreSQL takes neither, and both change silently on the way. */
export function hasUnstorableText(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed()
}

/** Number of Unicode code points, the way the contract counts characters. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
