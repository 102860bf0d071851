/**
 * Where an object or a list in JSON ends, found in pieces that are read once each: parsing again what is not complete would cost the square
 * of its length. What is between the brackets is not checked.
 */
export type JsonEnd = { depth: number; quoted: boolean; escaped: boolean; ended: boolean }

export function jsonEnd(): JsonEnd {
  return { depth: 0, quoted: false, escaped: false, ended: false }
}

/** Reads on. Text before the first bracket, and after the end, is passed over. */
export function readJson(state: JsonEnd, text: string): void {
  let { depth, quoted, escaped, ended } = state
  for (let at = 0; at < text.length && !ended; at++) {
    const char = text.charCodeAt(at)
    if (quoted) {
      if (escaped) escaped = false
      else if (char === BACKSLASH) escaped = true
      else if (char === QUOTE) quoted = false
    } else if (char === QUOTE) {
      quoted = depth > 0
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      depth += 1
    } else if ((char === CLOSE_OBJECT || char === CLOSE_LIST) && depth > 0) {
      depth -= 1
      ended = depth === 0
    }
  }
  state.depth = depth
  state.quoted = quoted
  state.escaped = escaped
  state.ended = ended
}

/** Whether a text is an object or a list from its first character that is no space. */
export function beginsJson(text: string): boolean {
  let at = 0
  while (text.charCodeAt(at) <= SPACE) at++
  const char = text.charCodeAt(at)
  return char === OPEN_OBJECT || char === OPEN_LIST
}

const SPACE = 0x20
const QUOTE = 0x22
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
