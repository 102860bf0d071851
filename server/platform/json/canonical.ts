import { jsonPieces } from './write.ts'

/**
 * A JSON text that is the same for equal values, in pieces for work that yields between them: members in the order of their names,
 * those that are null left out.
 */
export function* canonicalPieces(value: unknown): Generator<string> {
  if (Array.isArray(value)) yield* piecesOfArray(value)
  else if (typeof value === 'object' && value !== null) yield* piecesOfObject(value as Record<string, unknown>)
  else yield* jsonPieces(value)
}

function* piecesOfArray(items: readonly unknown[]): Generator<string> {
  let before = '['
  for (const item of items) {
    yield before
    yield* canonicalPieces(item)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

function* piecesOfObject(value: Record<string, unknown>): Generator<string> {
  let before = '{'
  const names = Object.keys(value)
  // To list many names, and to sort them, takes a turn each.
  yield ''
  names.sort()
  yield ''
  for (const name of names) {
    const member = value[name]
    if (member === null || member === undefined) continue
    yield before
    yield* jsonPieces(name)
    yield ':'
    yield* canonicalPieces(member)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}
