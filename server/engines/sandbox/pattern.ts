/**
 * A text that matches a regular expression of a client, which is read and never run: running it could take for ever. Knows what
 * schemas use: literals, classes, escapes, groups, alternatives, repetitions. Look-around and back references are skipped.
 * `growth` lengthens repetitions that allow it, `pick` chooses among `count` characters or branches. Null when it cannot be read.
 */
export function textMatching(pattern: string, growth: number, pick: (count: number) => number): string | null {
  if (pattern.length > PATTERN_CHARACTERS_MAX) return null
  try {
    const reader = { characters: [...pattern], at: 0, depth: 0 }
    const node = readAlternatives(reader)
    if (reader.at < reader.characters.length) return null
    const room = { left: TEXT_CHARACTERS_MAX }
    const text = write(node, { growth, pick, room })
    return room.left < 0 ? null : text
  } catch (error) {
    if (error instanceof Unreadable) return null
    throw error
  }
}

const PATTERN_CHARACTERS_MAX = 1000
const TEXT_CHARACTERS_MAX = 4096
const DEPTH_MAX = 50

type Node =
  | { kind: 'one_of'; characters: string[] }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'alternatives'; branches: Node[] }
  | { kind: 'repeat'; part: Node; least: number; most: number }

type Reader = { characters: string[]; at: number; depth: number }

class Unreadable extends Error {}

const DIGITS = [...'0123456789']
const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ']
const WORD = [...LETTERS, ...DIGITS, '_']
const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
const CLASSES: Readonly<Record<string, string[]>> = {
  d: DIGITS,
  w: WORD,
  s: [' '],
  D: [...LETTERS, '-'],
  W: [' ', '-', '.'],
  S: WORD,
}
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', 0: '\0' }

function readAlternatives(reader: Reader): Node {
  if (++reader.depth > DEPTH_MAX) throw new Unreadable()
  const branches = [readSequence(reader)]
  while (peek(reader) === '|') {
    reader.at++
    branches.push(readSequence(reader))
  }
  reader.depth--
  return branches.length === 1 ? branches[0]! : { kind: 'alternatives', branches }
}

function readSequence(reader: Reader): Node {
  const parts: Node[] = []
  for (let next = peek(reader); next !== undefined && next !== '|' && next !== ')'; next = peek(reader)) {
    const part = readAtom(reader)
    parts.push(readRepetition(reader, part))
  }
  return { kind: 'sequence', parts }
}

function readAtom(reader: Reader): Node {
  const character = take(reader)
  if (character === '^' || character === '$') return NOTHING
  if (character === '.') return { kind: 'one_of', characters: LETTERS }
  if (character === '[') return readClass(reader)
  if (character === '(') return readGroup(reader)
  if (character === '\\') return readEscape(reader)
  return { kind: 'one_of', characters: [character] }
}

const NOTHING: Node = { kind: 'sequence', parts: [] }

function readGroup(reader: Reader): Node {
  let skipped = false
  if (peek(reader) === '?') {
    const opening = reader.characters.slice(reader.at, reader.at + 3).join('')
    skipped = /^\?(?:[=!]|<[=!])/.test(opening)
    if (opening.startsWith('?:')) reader.at += 2
    else if (skipped) reader.at += opening[1] === '<' ? 3 : 2
    else if (opening.startsWith('?<')) while (take(reader) !== '>');
    else throw new Unreadable()
  }
  const inner = readAlternatives(reader)
  if (take(reader) !== ')') throw new Unreadable()
  return skipped ? NOTHING : inner
}

function readEscape(reader: Reader): Node {
  const character = take(reader)
  if (character === 'b' || character === 'B' || /[1-9]/.test(character)) return NOTHING
  if (character === 'p' || character === 'P') {
    while (take(reader) !== '}');
    return { kind: 'one_of', characters: character === 'p' ? LETTERS : ['-'] }
  }
  return { kind: 'one_of', characters: CLASSES[character] ?? [readCharacter(reader, character)] }
}

/** The character an escape stands for, its letter already taken. */
function readCharacter(reader: Reader, letter: string): string {
  if (letter !== 'x' && letter !== 'u') return CONTROLS[letter] ?? letter
  const hex = reader.characters.slice(reader.at, reader.at + (letter === 'x' ? 2 : 4)).join('')
  if (!/^(?:[0-9a-f]{2}){1,2}$/i.test(hex)) throw new Unreadable()
  reader.at += hex.length
  return String.fromCharCode(Number.parseInt(hex, 16))
}

function readClass(reader: Reader): Node {
  const negated = peek(reader) === '^'
  if (negated) reader.at++
  const characters: string[] = []
  for (let next = take(reader); next !== ']'; next = take(reader)) {
    if (next === '\\' && CLASSES[peek(reader) ?? ''] !== undefined) {
      characters.push(...CLASSES[take(reader)]!)
      continue
    }
    const from = next === '\\' ? readCharacter(reader, take(reader)) : next
    const isRange = peek(reader) === '-' && reader.characters[reader.at + 1] !== ']'
    characters.push(...(isRange ? readRange(reader, from) : [from]))
  }
  const allowed = negated ? PRINTABLE.filter((character) => !characters.includes(character)) : characters
  if (allowed.length === 0) throw new Unreadable()
  return { kind: 'one_of', characters: allowed }
}

/** At most the first 128 characters of a range: enough to choose from. */
function readRange(reader: Reader, from: string): string[] {
  take(reader)
  const last = take(reader)
  const to = last === '\\' ? readCharacter(reader, take(reader)) : last
  const first = from.codePointAt(0)!
  const count = Math.min(128, to.codePointAt(0)! - first + 1)
  return Array.from({ length: Math.max(0, count) }, (_, i) => String.fromCodePoint(first + i))
}

function readRepetition(reader: Reader, part: Node): Node {
  const next = peek(reader)
  let bounds: [number, number] | null = null
  if (next === '*') bounds = [0, Infinity]
  else if (next === '+') bounds = [1, Infinity]
  else if (next === '?') bounds = [0, 1]
  if (bounds !== null) reader.at++
  else if (next === '{') bounds = readBraces(reader)
  if (bounds === null) return part
  if (peek(reader) === '?') reader.at++
  return { kind: 'repeat', part, least: bounds[0], most: bounds[1] }
}

function readBraces(reader: Reader): [number, number] | null {
  const braces = /^\{(\d{1,6})(,(\d{0,6}))?\}/.exec(reader.characters.slice(reader.at, reader.at + 16).join(''))
  if (braces === null) return null
  reader.at += braces[0].length
  const least = Number(braces[1])
  if (braces[2] === undefined) return [least, least]
  return [least, braces[3] === '' ? Infinity : Number(braces[3])]
}

function peek(reader: Reader): string | undefined {
  return reader.characters[reader.at]
}

function take(reader: Reader): string {
  const character = reader.characters[reader.at++]
  if (character === undefined) throw new Unreadable()
  return character
}

type Writing = { growth: number; pick: (count: number) => number; room: { left: number } }

function write(node: Node, writing: Writing): string {
  if (writing.room.left < 0) return ''
  switch (node.kind) {
    case 'one_of':
      writing.room.left--
      return node.characters[writing.pick(node.characters.length)]!
    case 'sequence':
      return node.parts.map((part) => write(part, writing)).join('')
    case 'alternatives':
      return write(node.branches[writing.pick(node.branches.length)]!, writing)
    case 'repeat': {
      const times = Math.min(node.most, node.least + writing.growth)
      let text = ''
      for (let i = 0; i < times && writing.room.left >= 0; i++) {
        writing.room.left -= 0.01
        text += write(node.part, writing)
      }
      return text
    }
  }
}
