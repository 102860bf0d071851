/** Text within a line, with what stands out in it. Links lead to http and https addresses only. */
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'struck'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] }

const NESTING_MAX = 12
const ADDRESS_CHARACTERS_MAX = 2000
/** What may be the beginning of something. */
const SPECIAL = /[\\`*_~[!<h]/g
const PUNCTUATION = /[!-/:-@[-`{-~]/
const ADDRESS = /https?:\/\/[^\s<>"'`]{1,2000}/iy

type Reader = {
  text: string
  depth: number
  in_link: boolean
  /** Marks of which none closes from here on: looked for once, not once for each that opens. */
  unclosed: Set<string>
}

/** Reads emphasis, code, links and addresses. Takes time in proportion to the text, whatever it holds. */
export function readInline(text: string): Inline[] {
  return readPieces({ text, depth: 0, in_link: false, unclosed: new Set() })
}

function readPieces(reader: Reader): Inline[] {
  const { text } = reader
  const pieces: Inline[] = []
  let plain = ''
  let at = 0
  const put = (piece: Inline) => {
    if (plain !== '') pieces.push({ kind: 'text', text: plain })
    plain = ''
    pieces.push(piece)
  }
  while (at < text.length) {
    SPECIAL.lastIndex = at
    const next = SPECIAL.exec(text)?.index ?? text.length
    plain += text.slice(at, next)
    at = next
    if (at >= text.length) break
    if (text[at] === '\\' && PUNCTUATION.test(text[at + 1] ?? '')) {
      plain += text[at + 1]
      at += 2
      continue
    }
    const read = readSpecial(reader, at)
    if (read) {
      put(read.piece)
      at = read.end
    } else {
      const run = runAt(text, at)
      plain += text.slice(at, at + run)
      at += run
    }
  }
  if (plain !== '') pieces.push({ kind: 'text', text: plain })
  return pieces
}

type Read = { piece: Inline; end: number } | null

function readSpecial(reader: Reader, at: number): Read {
  switch (reader.text[at]) {
    case '`':
      return readCode(reader, at)
    case '*':
    case '_':
    case '~':
      return readEmphasis(reader, at)
    case '!':
      // Pictures from elsewhere are not fetched: that would tell others what is being read.
      return reader.text[at + 1] === '[' ? readLink(reader, at + 1) : null
    case '[':
      return readLink(reader, at)
    case '<':
      return readAngle(reader, at)
    case 'h':
      return readAddress(reader, at)
    default:
      return null
  }
}

/** How many of the same character stand here; 1 for those that come alone. */
function runAt(text: string, at: number): number {
  const character = text[at]!
  if (!'`*_~'.includes(character)) return 1
  let end = at
  while (text[end] === character) end++
  return end - at
}

function readCode(reader: Reader, at: number): Read {
  const { text } = reader
  const length = runAt(text, at)
  const mark = '`'.repeat(length)
  if (reader.unclosed.has(mark)) return null
  for (let end = text.indexOf(mark, at + length); end >= 0; ) {
    const run = runAt(text, end)
    if (run === length) {
      const inside = text.slice(at + length, end).replaceAll('\n', ' ')
      const trimmed = /^ .*[^ ].* $/.test(inside) ? inside.slice(1, -1) : inside
      return { piece: { kind: 'code', text: trimmed }, end: end + length }
    }
    end = text.indexOf(mark, end + run)
  }
  reader.unclosed.add(mark)
  return null
}

function readEmphasis(reader: Reader, at: number): Read {
  const { text } = reader
  const character = text[at]!
  const run = runAt(text, at)
  if (reader.depth >= NESTING_MAX || run > 3 || (character === '~' && run !== 2)) return null
  if (!/\S/.test(text[at + run] ?? ' ')) return null
  if (character === '_' && /[\p{L}\p{N}]/u.test(text[at - 1] ?? ' ')) return null
  const mark = character.repeat(run)
  if (reader.unclosed.has(mark)) return null
  const end = closingOf(text, at + run, mark)
  if (end < 0) {
    reader.unclosed.add(mark)
    return null
  }
  const inside = readPieces({
    ...reader,
    text: text.slice(at + run, end),
    depth: reader.depth + 1,
    unclosed: new Set(),
  })
  const piece: Inline =
    run === 3
      ? { kind: 'strong', inside: [{ kind: 'emphasis', inside }] }
      : { kind: character === '~' ? 'struck' : run === 2 ? 'strong' : 'emphasis', inside }
  return { piece, end: end + run }
}

/** Where a run of just this length closes; code and escapes in between are passed over. −1 for nowhere. */
function closingOf(text: string, from: number, mark: string): number {
  for (let at = from; at < text.length; ) {
    if (text[at] === '\\') at += 2
    else if (text[at] === '`') {
      const run = runAt(text, at)
      const close = text.indexOf('`'.repeat(run), at + run)
      at = close < 0 ? at + run : close + run
    } else if (text[at] === mark[0]) {
      const run = runAt(text, at)
      const closes = run === mark.length && /\S/.test(text[at - 1]!)
      if (closes && !(mark[0] === '_' && /[\p{L}\p{N}]/u.test(text[at + run] ?? ' '))) return at
      at += run
    } else at++
  }
  return -1
}

const WORDS = /\[((?:[^[\]\\]|\\.){0,2000})\]\(/sy
const TARGET = /^\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/

function readLink(reader: Reader, at: number): Read {
  const { text } = reader
  if (reader.in_link) return null
  WORDS.lastIndex = at
  const words = WORDS.exec(text)
  if (!words) return null
  const start = at + words[0].length
  const target = TARGET.exec(text.slice(start, start + ADDRESS_CHARACTERS_MAX))
  const href = target && safeAddress(target[1] ?? target[2] ?? '')
  if (!href) return null
  const inside = readPieces({
    ...{ text: words[1] === '' ? href : words[1]!, depth: reader.depth + 1, in_link: true, unclosed: new Set() },
  })
  return { piece: { kind: 'link', href, inside }, end: start + target[0].length }
}

function readAngle(reader: Reader, at: number): Read {
  const found = /^<(https?:\/\/[^\s<>]{1,2000})>/i.exec(reader.text.slice(at, at + 2010))
  return found && !reader.in_link ? linkTo(found[1]!, at + found[0].length) : null
}

function readAddress(reader: Reader, at: number): Read {
  if (reader.in_link || /\w/.test(reader.text[at - 1] ?? ' ')) return null
  ADDRESS.lastIndex = at
  const found = ADDRESS.exec(reader.text)?.[0]
  if (!found) return null
  const [start = ''] = found.split(/[、。，．！？」』）】]/, 1)
  // What ends a sentence is not part of the address, nor a bracket that was opened before it.
  let length = start.length
  while ('.,;:!?*_~'.includes(start[length - 1]!) || (start[length - 1] === ')' && !start.includes('('))) length--
  return linkTo(start.slice(0, length), at + length)
}

function linkTo(address: string, end: number): Read {
  const href = safeAddress(address)
  return href ? { piece: { kind: 'link', href, inside: [{ kind: 'text', text: address }] }, end } : null
}

/** The address, when it is one of the web. */
export function safeAddress(address: string): string | null {
  if (!/^https?:\/\//i.test(address)) return null
  try {
    const url = new URL(address)
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null
  } catch {
    return null
  }
}
