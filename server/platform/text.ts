/** True when `text` holds U+0000 or half of a surrogate pair: PostgreSQL takes neither, and both change silently on the way. */
export function hasUnstorableText(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed()
}

/** `text` with U+FFFD in place of what `hasUnstorableText` finds. */
export function storableText(text: string): string {
  return hasUnstorableText(text) ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
}

/** `text` within a sentence that it could begin. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `text`, which others may have written, with one full stop at its end. */
export function asSentence(text: string): string {
  return `${text.replace(/[.\s]+$/, '')}.`
}

/** Number of Unicode code points, the way the contract counts characters. */
export function countCodePoints(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length - 1; i++) {
    // A pair of surrogates is one character.
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--
      i++
    }
  }
  return count
}

/** Longer texts are not counted through: it takes a millisecond a million. */
const COUNTED_MAX = 1_000_000

/** The length of a text in words: its code points, or for a very long one that it has more than a million. */
export function describeLength(text: string): string {
  return text.length > 2 * COUNTED_MAX ? `over ${COUNTED_MAX}` : String(countCodePoints(text))
}

/** Whether a text has more than `max` code points; looks no further than it must. */
export function isLongerThan(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || countCodePoints(text) > max)
}
