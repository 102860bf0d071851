import { nextTurn, turnTaker } from '../turns.ts'

/** About how many characters are written in one go. */
const PIECE_CHARACTERS = 64 * 1024
/** Bytes of a number, a boolean, a bracket, and of the punctuation around a value. */
const VALUE_CHARACTERS = 8

/**
 * The JSON text of a value. What is long is written piece by piece with other work between, and comes as a promise of its bytes, whose
 * total is their length; together they are the UTF-8 of what `JSON.stringify` makes. The value holds plain data alone. `signal`: see `nextTurn`.
 */
export function writeJson(value: object, signal?: AbortSignal): string | Promise<Buffer[]> {
  return weigh(value, PIECE_CHARACTERS) > 0 ? JSON.stringify(value) : writeLarge(value, signal)
}

/** The bytes of the JSON text of a value of any length, in pieces, with other work between. */
export async function writeLarge(value: unknown, signal?: AbortSignal): Promise<Buffer[]> {
  const bytes: Buffer[] = []
  // Others may begin at the same moment.
  await nextTurn(signal)
  const turn = turnTaker(1, signal)
  for (const piece of piecesOf(value)) {
    if (piece !== '') bytes.push(Buffer.from(piece))
    const other = turn()
    if (other) await other
  }
  return bytes
}

/** The JSON text of a value in pieces of about 64,000 characters, for work that yields between them. */
export function* jsonPieces(value: unknown): Generator<string> {
  for (const piece of piecesOf(value)) if (piece !== '') yield piece
}

/** Bytes of the JSON text of a value; of a long one as a promise, counted with other work between. `signal`: see `nextTurn`. */
export function jsonBytes(value: object, signal?: AbortSignal): number | Promise<number> {
  return isLongJson(value, PIECE_CHARACTERS) ? bytesInTurns(value, signal) : Buffer.byteLength(JSON.stringify(value))
}

async function bytesInTurns(value: object, signal: AbortSignal | undefined): Promise<number> {
  let bytes = 0
  const turn = turnTaker(1, signal)
  for (const piece of piecesOf(value)) {
    bytes += Buffer.byteLength(piece)
    const other = turn()
    if (other) await other
  }
  return bytes
}

/**
 * Whether a value is longer as JSON than so many characters, by a count that looks no further than that: a few more for brackets and
 * numbers than there are, none for characters that are escaped.
 */
export function isLongJson(value: object, characters: number): boolean {
  return weigh(value, characters) <= 0
}

/** How many values a value holds, itself included; an array or object counts twice, as where bodies are read. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 2
  if (Array.isArray(value)) for (const each of value) count += countValues(each)
  else for (const name in value) count += countValues((value as Record<string, unknown>)[name])
  return count
}

/** What is left of so many characters after a value, 0 or less when it is longer. Looks no further than that. */
function weigh(value: unknown, room: number): number {
  let left = room - VALUE_CHARACTERS
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left > 0; i++) left = weigh(value[i], left)
    return left
  }
  for (const name in value) {
    if (left <= 0) return left
    left = weigh((value as Record<string, unknown>)[name], left - name.length)
  }
  return left
}

function* piecesOf(value: unknown): Generator<string> {
  const isShort = weigh(value, PIECE_CHARACTERS) > 0
  // To list the names of many members takes a turn of its own.
  yield ''
  if (isShort) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* piecesOfText(value)
  else if (Array.isArray(value)) yield* piecesOfArray(value)
  else yield* piecesOfObject(value as Record<string, unknown>)
}

function* piecesOfArray(items: readonly unknown[]): Generator<string> {
  let before = '['
  for (let from = 0; from < items.length; ) {
    let to = from
    for (let left = PIECE_CHARACTERS; to < items.length; to++) {
      left = weigh(items[to], left)
      if (left <= 0) break
    }
    if (to > from) yield before + JSON.stringify(items.slice(from, to)).slice(1, -1)
    else {
      yield before
      yield* piecesOf(items[to++])
    }
    before = ','
    from = to
  }
  yield before === '[' ? '[]' : ']'
}

function* piecesOfObject(value: Record<string, unknown>): Generator<string> {
  let before = '{'
  let batch: Array<[string, unknown]> = []
  let left = PIECE_CHARACTERS
  const names = Object.keys(value)
  yield ''
  for (const name of names) {
    if (value[name] === undefined) continue
    const rest = weigh(value[name], left - name.length)
    if (rest > 0) {
      batch.push([name, value[name]])
      left = rest
      continue
    }
    if (batch.length > 0) {
      yield before + JSON.stringify(Object.fromEntries(batch)).slice(1, -1)
      before = ','
      batch = []
    }
    left = PIECE_CHARACTERS
    yield before
    yield* piecesOf(name)
    yield ':'
    yield* piecesOf(value[name])
    before = ','
  }
  if (batch.length > 0) {
    yield before + JSON.stringify(Object.fromEntries(batch)).slice(1, -1)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Cut between characters: half a surrogate pair would be escaped. */
function* piecesOfText(text: string): Generator<string> {
  yield '"'
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE_CHARACTERS, text.length)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}
