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

class Mistaken extends Error {
  readonly problem: JsonProblem
  constructor(problem: JsonProblem) {
    super(problem)
    this.problem = problem
  }
}

type Reader = { text: string; at: number; depth: number; path: Array<string | number>; starts: Map<string, number> }

/** Reads JSON as `JSON.parse` does, but knows in which line a mistake is, and in which each part of the value. */
export function readJson(text: string): { json: JsonText } | { mistake: JsonMistake } {
  const reader: Reader = { text, at: 0, depth: 0, path: [], starts: new Map() }
  try {
    const value = readValue(reader)
    skipSpace(reader)
    if (reader.at < text.length) throw new Mistaken('after_end')
    const lineOf = (path: JsonPath) => positionIn(text, reader.starts.get(JSON.stringify(path)) ?? 0).line
    return { json: { value, lineOf } }
  } catch (error) {
    if (!(error instanceof Mistaken)) throw error
    return { mistake: { problem: error.problem, ...positionIn(text, reader.at) } }
  }
}

function positionIn(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

function readValue(reader: Reader): unknown {
  skipSpace(reader)
  reader.starts.set(JSON.stringify(reader.path), reader.at)
  const next = reader.text[reader.at]
  if (next === undefined) throw new Mistaken('unexpected_end')
  if (next === '{') return readObject(reader)
  if (next === '[') return readArray(reader)
  if (next === '"') return readText(reader)
  if (next === "'" || next === '“' || next === '”') throw new Mistaken('wrong_quotes')
  if (/[-\d]/.test(next)) return readNumber(reader)
  for (const [word, value] of WORDS)
    if (reader.text.startsWith(word, reader.at)) {
      reader.at += word.length
      return value
    }
  throw new Mistaken('unexpected_character')
}

const WORDS: ReadonlyArray<[string, unknown]> = [
  ['true', true],
  ['false', false],
  ['null', null],
]

function readObject(reader: Reader): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  readMembers(reader, '}', () => {
    const next = reader.text[reader.at]
    if (next === "'" || next === '“' || next === '”') throw new Mistaken('wrong_quotes')
    if (next !== '"') throw new Mistaken(/[\w$]/.test(next ?? ' ') ? 'unquoted_name' : 'unexpected_character')
    const name = readText(reader)
    skipSpace(reader)
    if (reader.at >= reader.text.length) throw new Mistaken('unexpected_end')
    if (reader.text[reader.at] !== ':') throw new Mistaken('unexpected_character')
    reader.at++
    reader.path.push(name)
    // A plain assignment of `__proto__` would set the prototype.
    Object.defineProperty(value, name, {
      ...{ value: readValue(reader), enumerable: true, configurable: true, writable: true },
    })
    reader.path.pop()
  })
  return value
}

function readArray(reader: Reader): unknown[] {
  const value: unknown[] = []
  readMembers(reader, ']', () => {
    reader.path.push(value.length)
    value.push(readValue(reader))
    reader.path.pop()
  })
  return value
}

/** What stands between brackets, with commas between. */
function readMembers(reader: Reader, close: string, readOne: () => void): void {
  if (++reader.depth > DEPTH_MAX) throw new Mistaken('too_deep')
  reader.at++
  for (let first = true; ; first = false) {
    skipSpace(reader)
    const next = reader.text[reader.at]
    if (next === undefined) throw new Mistaken('unexpected_end')
    if (first && next === close) break
    if (!first) {
      if (next === close) break
      if (next !== ',') throw new Mistaken(/["{[\w-]/.test(next) ? 'missing_comma' : 'unexpected_character')
      const comma = reader.at++
      skipSpace(reader)
      if (reader.text[reader.at] === close) {
        reader.at = comma
        throw new Mistaken('trailing_comma')
      }
      if (reader.at >= reader.text.length) throw new Mistaken('unexpected_end')
    }
    readOne()
  }
  reader.at++
  reader.depth--
}

function readText(reader: Reader): string {
  const start = reader.at++
  for (;;) {
    const next = reader.text[reader.at]
    if (next === undefined) throw new Mistaken('unexpected_end')
    if (next === '"') break
    if (next === '\n' || next === '\r') throw new Mistaken('line_break_in_text')
    if (next < ' ') throw new Mistaken('unexpected_character')
    if (next === '\\' && !/^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/.test(reader.text.slice(reader.at, reader.at + 6)))
      throw new Mistaken('bad_escape')
    reader.at += next === '\\' ? 2 : 1
  }
  reader.at++
  return JSON.parse(reader.text.slice(start, reader.at))
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y

function readNumber(reader: Reader): number {
  NUMBER.lastIndex = reader.at
  const found = NUMBER.exec(reader.text)?.[0]
  if (found === undefined || /[\w.]/.test(reader.text[reader.at + found.length] ?? ' '))
    throw new Mistaken('bad_number')
  reader.at += found.length
  return Number(found)
}

function skipSpace(reader: Reader): void {
  while (/[ \t\n\r]/.test(reader.text[reader.at] ?? '')) reader.at++
}
