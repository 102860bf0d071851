/**
 * Whether JSON has come to its end, that of an object or a list, found in pieces that are read once each: parsing again what is not complete
 * would cost the square of its length. What is between the brackets is not checked.
 */
export type JsonEnd = { depth: number; quoted: boolean; escaped: boolean; ended: boolean }

export function jsonEnd(): JsonEnd {
  return { depth: 0, quoted: false, escaped: false, ended: false }
}

/**
 * Reads on. Text before the first bracket, and after the end, is passed over; but where another object or list follows the end, its end
 * counts.
 */
export function readJson(state: JsonEnd, text: string): void {
  let at = state.ended ? text.length : readToEnd(state, text, 0)
  while (state.ended) {
    at = nextOf(text, at)
    if (!beginsJson(text, at)) return
    at = readToEnd(state, text, at)
  }
}

/** The objects and lists that follow each other in a text that begins with one. What follows the last is left out. Throws SyntaxError. */
export function* jsonValues(text: string): Generator<unknown, void> {
  const state = jsonEnd()
  for (let at = 0; beginsJson(text, at); ) {
    const stop = readToEnd(state, text, at)
    yield parseLenientJson(text.slice(at, stop))
    at = nextOf(text, stop)
  }
}

/** Throws SyntaxError. Numbers that are not JSON, as Python writes them, are null. */
export function parseLenientJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error
    return JSON.parse(text.replace(NO_NUMBER, (found) => (found.startsWith('"') ? found : 'null')))
  }
}

/** Also texts, which may have the same words. */
const NO_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:NaN|Infinity)/g

/** Whether a text is an object or a list from its first character that is no space. */
export function beginsJson(text: string, from = 0): boolean {
  let at = from
  while (text.charCodeAt(at) <= SPACE) at++
  const char = text.charCodeAt(at)
  return char === OPEN_OBJECT || char === OPEN_LIST
}

/** Reads to the first end. Returns where that is, or the length of the text. */
export function readToEnd(state: JsonEnd, text: string, from: number): number {
  let { depth, quoted, escaped } = state
  let ended = false
  let at = from
  for (; at < text.length && !ended; at++) {
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
  return at
}

/** Servers that lose line breaks keep the names of fields. */
const BETWEEN = /[\s,]*(data:)?/y

function nextOf(text: string, stop: number): number {
  BETWEEN.lastIndex = stop
  BETWEEN.test(text)
  return BETWEEN.lastIndex
}

const SPACE = 0x20
const QUOTE = 0x22
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
