/** Tells where the arguments of a call, as far as they have come, are a whole JSON object. Brackets are counted, nothing is parsed. */
export type ObjectEnd = { isWhole(text: string): boolean }

/** Asked again with a longer text, it goes on where it was. */
export function objectEnd(): ObjectEnd {
  let seen = 0
  let depth = 0
  let inString = false
  let ended = false

  return {
    isWhole(text) {
      for (; seen < text.length && !ended; seen++) {
        const code = text.charCodeAt(seen)
        if (inString) {
          // An escape is two characters here; of its second nothing matters.
          if (code === BACKSLASH) seen++
          else if (code === QUOTE) inString = false
        } else if (code === QUOTE) inString = true
        else if (code === BRACE_OPEN || code === BRACKET_OPEN) depth++
        else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) ended = --depth <= 0
      }
      return ended
    },
  }
}

const QUOTE = 34
const BACKSLASH = 92
const BRACE_OPEN = 123
const BRACE_CLOSE = 125
const BRACKET_OPEN = 91
const BRACKET_CLOSE = 93
