/** Reads the plain input of a custom tool out of the arguments it travels in. Source: contract 10.6. */
export type InputReader = {
  /** More of the input, as far as these further arguments settle it. */
  take(argumentsText: string): string
  /** What is left when no more arguments come. */
  rest(): string
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** Whether more text could still make it an opening. */
const OPENING_BEGUN = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/
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

/**
 * Custom tools are given to models as functions of one string, `{"input":"…"}`, which arrives in pieces that may end anywhere, within
 * an escape too. Arguments of another form are themselves the input: nothing a model says is lost.
 */
export function inputReader(): InputReader {
  let state: 'opening' | 'string' | 'raw' | 'closed' = 'opening'
  /** Text that is not settled yet: of the opening, or of an escape. */
  let waiting = ''

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
      const found = readEscape(text, stop)
      if (found === null) {
        waiting = text.slice(stop)
        return input
      }
      input += found.text
      at = stop + found.length
    }
  }

  return {
    take(argumentsText) {
      const text = waiting + argumentsText
      waiting = ''
      if (state === 'closed') return ''
      if (state === 'raw') return text
      if (state === 'string') return readString(text)
      const opening = OPENING.exec(text)
      if (opening) {
        state = 'string'
        return readString(text.slice(opening[0].length))
      }
      if (OPENING_BEGUN.test(text)) {
        waiting = text
        return ''
      }
      state = 'raw'
      return text
    },
    rest() {
      const text = waiting
      waiting = ''
      return text
    },
  }
}

function nextSpecial(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 34 || code === 92) return at
  }
  return text.length
}

/** The escape at `at`, null when its end has not come. What JSON does not know stands for itself. */
function readEscape(text: string, at: number): { text: string; length: number } | null {
  const kind = text[at + 1]
  if (kind === undefined) return null
  if (kind !== 'u') return { text: ESCAPES[kind] ?? `\\${kind}`, length: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (!/^[0-9a-fA-F]*$/.test(digits)) return { text: '\\u', length: 2 }
  return digits.length < 4 ? null : { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}
