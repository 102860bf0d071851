import { storableText } from '../../platform/text.ts'

/** Text that arrives in deltas, each of which may end anywhere: within a character, within an escape, within a JSON object. */
export type DeltaDecoder = {
  /** The text that this delta completes. */
  write(delta: string): string
  /** What is left when no more deltas come. */
  end(): string
}

/**
 * Whether the arguments of a call, as far as they have arrived, are a complete JSON object. Counts brackets and parses nothing; called
 * again with a longer text, it continues where it stopped.
 */
export function objectEndScanner(): { isComplete(text: string): boolean } {
  let seen = 0
  let depth = 0
  let inString = false
  let ended = false

  return {
    isComplete(text) {
      for (; seen < text.length && !ended; seen++) {
        const code = text.charCodeAt(seen)
        if (inString) {
          // Skips the character after the backslash, whatever it is.
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

/**
 * Extracts the plain input of a custom tool from the arguments `{"input":"…"}`, since models are given custom tools as functions of one
 * string. Arguments of any other form are taken as the input themselves, so that nothing is lost. What escapes stand for may be text that
 * cannot be stored: U+FFFD takes its place. Source: contract 10.6.
 */
export function customInputDecoder(): DeltaDecoder {
  const [escaped, wellFormed] = [escapedInputDecoder(), wellFormedDecoder()]
  return {
    write: (delta) => wellFormed.write(escaped.write(delta)),
    end: () => wellFormed.write(escaped.end()) + wellFormed.end(),
  }
}

function escapedInputDecoder(): DeltaDecoder {
  let state: 'opening' | 'string' | 'raw' | 'closed' = 'opening'
  /** An incomplete opening or escape. */
  let pending = ''

  const readString = (text: string): string => {
    let input = ''
    for (let at = 0; ; ) {
      const stop = nextSpecial(text, at)
      input += text.slice(at, stop)
      if (stop === text.length) return input
      if (text[stop] === '"') {
        state = 'closed'
        return input
      }
      const decoded = readEscape(text, stop)
      if (decoded === null) {
        pending = text.slice(stop)
        return input
      }
      input += decoded.text
      at = stop + decoded.length
    }
  }

  return {
    write(delta) {
      const text = pending + delta
      pending = ''
      if (state === 'closed') return ''
      if (state === 'raw') return text
      if (state === 'string') return readString(text)
      const opening = OPENING.exec(text)
      if (opening) {
        state = 'string'
        return readString(text.slice(opening[0].length))
      }
      if (OPENING_PREFIX.test(text)) {
        pending = text
        return ''
      }
      state = 'raw'
      return text
    },
    end() {
      const text = pending
      pending = ''
      return text
    },
  }
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** Whether more text could still make it an opening. */
const OPENING_PREFIX = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

function nextSpecial(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE || code === BACKSLASH) return at
  }
  return text.length
}

/** The escape at `at`, or null when it is incomplete. An escape that JSON does not have is kept as it is. */
function readEscape(text: string, at: number): { text: string; length: number } | null {
  const kind = text[at + 1]
  if (kind === undefined) return null
  if (kind !== 'u') return { text: ESCAPES[kind] ?? `\\${kind}`, length: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (!/^[0-9a-fA-F]*$/.test(digits)) return { text: '\\u', length: 2 }
  return digits.length < 4 ? null : { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}

/** Never splits a surrogate pair: a half waits for the next delta. Anything else that cannot be stored becomes U+FFFD. */
function wellFormedDecoder(): DeltaDecoder {
  let half = ''
  return {
    write(delta) {
      let text = half === '' ? delta : half + delta
      half = ''
      const last = text.charCodeAt(text.length - 1)
      if (last >= 0xd800 && last <= 0xdbff) {
        half = text.slice(-1)
        text = text.slice(0, -1)
      }
      return storableText(text)
    },
    end() {
      const text = half === '' ? '' : '\ufffd'
      half = ''
      return text
    },
  }
}
