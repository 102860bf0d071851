import { createScanner, getLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'

export type JsonProblem =
  | 'unexpected_end'
  | 'unexpected_character'
  | 'trailing_comma'
  | 'missing_comma'
  | 'unquoted_name'
  | 'wrong_quotes'
  | 'bad_escape'
  | 'line_break_in_text'
  | 'bad_number'
  | 'after_end'
  | 'too_deep'

export type JsonMistake = { problem: JsonProblem; line: number; column: number }
export type JsonPath = ReadonlyArray<string | number>

/** A JSON text that was read: its value, and the line (from 1) where a part of it begins. */
export type JsonText = { value: unknown; lineOf(path: JsonPath): number }

const DEPTH_MAX = 64

/** Reads JSON as `JSON.parse` does, but knows in which line a mistake is, and in which each part of the value. */
export function readJson(text: string): { json: JsonText } | { mistake: JsonMistake } {
  const mistake = (problem: JsonProblem, at: number) => ({ mistake: { problem, ...positionOf(text, at) } })
  const too_deep = findTooDeep(text)
  if (too_deep !== null) return mistake('too_deep', too_deep)
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { disallowComments: true })
  const [error] = errors
  if (error) return mistake(...explain(text, error))
  const lineOf = (path: JsonPath) => positionOf(text, findNode(root, path)?.offset ?? 0).line
  return { json: { value: JSON.parse(text), lineOf } }
}

/** The first bracket beyond the depth. It is looked for before parsing, which is recursive without a bound. */
function findTooDeep(text: string): number | null {
  const scanner = createScanner(text, true)
  let depth = 0
  for (;;) {
    scanner.scan()
    const at = scanner.getTokenOffset()
    const first = text[at]
    if (first === undefined) return null
    if (first === '}' || first === ']') depth--
    else if ((first === '{' || first === '[') && ++depth > DEPTH_MAX) return at
  }
}

/** The parser's first error as the console words it, and its exact place. */
function explain(text: string, error: ParseError): [problem: JsonProblem, at: number] {
  const { offset: at, length } = error
  const code = printParseErrorCode(error.error)
  const next = text[at] ?? ''
  const before = text.slice(0, at)
  const last = before.trimEnd().length - 1
  if (before[last] === ',' && (next === '}' || next === ']')) return ['trailing_comma', last]
  if (code === 'InvalidEscapeCharacter' || code === 'InvalidUnicode')
    return ['bad_escape', at + text.slice(at).search(BAD_ESCAPE)]
  if (code === 'UnexpectedEndOfString')
    return [at + length < text.length ? 'line_break_in_text' : 'unexpected_end', at + length]
  if (code === 'EndOfFileExpected') return ['after_end', at]
  if (next === '') return ['unexpected_end', at]
  if (/['“”]/.test(next)) return ['wrong_quotes', at]
  const digits = /[\d.eE+-]*\d$/.exec(before)?.[0] ?? ''
  const lone_minus = code === 'InvalidSymbol' && next === '-'
  if (code === 'UnexpectedEndOfNumber' || lone_minus || (digits !== '' && /[\w.]/.test(next)))
    return ['bad_number', at - digits.length]
  if (code === 'CommaExpected' && /["{[\w-]/.test(next)) return ['missing_comma', at]
  if (/[\w$]/.test(next) && /[{,]/.test(before[last] ?? '') && getLocation(text, at).isAtPropertyKey)
    return ['unquoted_name', at]
  return ['unexpected_character', at]
}

const BAD_ESCAPE = /\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/

/** Of two members with one name the last, as `JSON.parse` has it. */
function findNode(root: Node | undefined, path: JsonPath): Node | undefined {
  return path.reduce<Node | undefined>((node, part) => {
    if (typeof part === 'number') return node?.children?.[part]
    return node?.children?.findLast(({ children }) => children?.[0]?.value === part)?.children?.[1]
  }, root)
}

function positionOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}
