/** A regular expression of a client: classes, escapes, groups, alternatives and counts, with anchors around all of it. */
export type Pattern = Item[][]

type Item = { of: Pattern | string[]; least: number; most: number }

const PATTERN_CHARACTERS_MAX = 1000
const TEXT_CHARACTERS_MAX = 300
/** Groups within each other. */
const GROUPS_MAX = 50

/**
 * Null for an invalid or long expression, and for look-around, back references, word boundaries and anchors in a group. What is left
 * matches every text that is put together of its parts, so that no client's expression has to be run.
 */
export function readPattern(source: string): Pattern | null {
  if (source.length > PATTERN_CHARACTERS_MAX) return null
  // Schemas escape more than the `u` flag allows, as in `\-`.
  for (const flags of ['u', '']) {
    try {
      new RegExp(source, flags)
      return readGroup({ source, flags, at: 0, groups: 0 })
    } catch {}
  }
  return null
}

/** A text that the pattern matches. `growth` lengthens repetitions that allow it, `pick` chooses among `count` options. */
export function textMatching(pattern: Pattern, growth: number, pick: (count: number) => number): string | null {
  let room = TEXT_CHARACTERS_MAX * 4
  const write = (branches: Pattern): string => {
    let text = ''
    for (const { of, least, most } of branches[pick(branches.length)]!)
      for (let left = Math.min(most, least + growth); left > 0 && --room >= 0; left--)
        text += isGroup(of) ? write(of) : of[pick(of.length)]!
    return text
  }
  const text = write(pattern)
  return room < 0 || text.length > TEXT_CHARACTERS_MAX ? null : text
}

function isGroup(of: Item['of']): of is Pattern {
  return Array.isArray(of[0])
}

type Reader = { source: string; flags: string; at: number; groups: number }

const TOKEN =
  /\[(?:\\.|[^\]\\])*\]|\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[\w=]+\}|0|[^\dbBkcpPux])|\((?:\?:|\?<\w+>)?(?!\?)|[^\\(]/uy
const COUNT = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y
const ALPHABET = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), ...'\n\t\r\fäßあア漢한я']

/** Alternatives up to a closing bracket or the end; null where they hold what cannot be read. */
function readGroup(reader: Reader): Pattern | null {
  const branches: Pattern = [[]]
  if (++reader.groups > GROUPS_MAX) return null
  while (reader.at < reader.source.length && reader.source[reader.at] !== ')') {
    const items = branches.at(-1)!
    const token = take(reader, TOKEN)?.[0] ?? '\\'
    const isLast = reader.at === reader.source.length || reader.source[reader.at] === '|'
    const isAnchor = reader.groups === 1 && (token === '^' ? items.length === 0 : token === '$' && isLast)
    if (token === '|') branches.push([])
    if (token === '|' || isAnchor) continue
    const of = token.startsWith('(') ? readGroup(reader) : readCharacter(reader, token)
    if (of === null) return null
    items.push({ of, ...readCount(reader) })
  }
  reader.at++
  reader.groups--
  return branches
}

/** Characters that a class or an escape matches, one by one as RegExp decides. Letters and digits are preferred. */
function readCharacter({ flags }: Reader, token: string): string[] | null {
  if (token === '\\' || token === '^' || token === '$') return null
  const fits = new RegExp(`^(?:${token})$`, flags)
  const codes = [...token.matchAll(/\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi)]
  const named = codes.map(([, ...hex]) => String.fromCodePoint(Number.parseInt(hex.find(Boolean)!, 16)))
  const options = [...ALPHABET, ...token, ...named].filter((each) => fits.test(each) && each.isWellFormed())
  const plain = options.filter((each) => /[a-z\d]/i.test(each))
  return options.length === 0 ? null : plain.length > 0 ? plain : options
}

function readCount(reader: Reader): { least: number; most: number } {
  const [found, sign, from = '1', comma, to] = take(reader, COUNT) ?? []
  const least = sign === '*' || sign === '?' ? 0 : Number(from)
  const most = found === undefined || sign === '?' ? 1 : sign || (comma && to === '') ? Infinity : Number(to || from)
  return { least, most }
}

function take(reader: Reader, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = reader.at
  const found = expression.exec(reader.source)
  if (found !== null) reader.at += found[0].length
  return found
}
