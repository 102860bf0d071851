/** A regular expression of a client, read: classes, escapes, groups, alternatives, counts and anchors. */
export type Pattern = { regexp: RegExp; root: Group }

type Group = Item[][]
type Item = { of: Group | Character | '^' | '$'; least: number; most: number; lazy: boolean }
type Character = { fits: RegExp; options: string[] }

const PATTERN_CHARACTERS_MAX = 1000
const TEXT_CHARACTERS_MAX = 300
/** Groups within each other; steps that one search may take, and how deep they may lie within each other. */
const GROUPS_MAX = 50
const STEPS_MAX = 20_000
const NESTING_MAX = 600

/** Null for an invalid or long expression, and for one with look-around, back references or word boundaries. */
export function readPattern(source: string): Pattern | null {
  if (source.length > PATTERN_CHARACTERS_MAX) return null
  // Schemas escape more than the `u` flag allows, as in `\-`.
  for (const flags of ['u', '']) {
    try {
      const regexp = new RegExp(source, flags)
      const root = readGroup({ source, flags, at: 0, groups: 0 })
      return root && { regexp, root }
    } catch {}
  }
  return null
}

/** A text that the pattern matches. `growth` lengthens repetitions that allow it, `pick` chooses among `count` options. */
export function textMatching({ root }: Pattern, growth: number, pick: (count: number) => number): string | null {
  let room = TEXT_CHARACTERS_MAX * 4
  const write = (of: Item['of']): string => {
    if (--room < 0 || typeof of === 'string') return ''
    if (!Array.isArray(of)) return of.options[pick(of.options.length)]!
    let text = ''
    for (const { of: part, least, most } of of[pick(of.length)]!)
      for (let left = Math.min(most, least + growth); left > 0 && room > 0; left--) text += write(part)
    return text
  }
  const text = write(root)
  return room < 0 || text.length > TEXT_CHARACTERS_MAX ? null : text
}

/**
 * Whether RegExp may be run on `text`: the same search, in the same order, ends here within a bounded number of steps. So a pattern that
 * backtracks without end is never run. `count` is given the steps that this took.
 */
export function isQuick({ root }: Pattern, text: string, count: (steps: number) => void = () => {}): boolean {
  const characters = [...text]
  let [steps, nesting] = [0, 0]
  const isOver = () => steps > STEPS_MAX || nesting > NESTING_MAX
  type Next = (at: number) => boolean
  const once = (of: Item['of'], at: number, next: Next): boolean => {
    if (Array.isArray(of)) return of.some((items) => rest(items, 0, 0, at, next))
    if (typeof of === 'string') return at === (of === '^' ? 0 : characters.length) && next(at)
    return at < characters.length && of.fits.test(characters[at]!) && next(at + 1)
  }
  const rest = (items: Item[], index: number, times: number, at: number, next: Next): boolean => {
    steps++
    if (isOver()) return false
    const item = items[index]
    if (item === undefined) return next(at)
    const again: Next = (end) => (end > at || times < item.least) && rest(items, index, times + 1, end, next)
    const more = () => times < item.most && once(item.of, at, again)
    const on = () => times >= item.least && rest(items, index + 1, 0, at, next)
    nesting++
    const isMatch = item.lazy ? on() || more() : more() || on()
    if (!isOver()) nesting--
    return isMatch
  }
  if (text.length > TEXT_CHARACTERS_MAX) return false
  let found = false
  for (let from = 0; from <= characters.length && !found && !isOver(); from++) found = once(root, from, () => true)
  count(steps)
  return found || !isOver()
}

type Reader = { source: string; flags: string; at: number; groups: number }

const TOKEN =
  /\[(?:\\.|[^\]\\])*\]|\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[\w=]+\}|0|[^\dbBkcpPux])|\((?:\?:|\?<\w+>)?(?!\?)|[^\\(]/uy
const COUNT = /(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/y
const ALPHABET = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), ...'\n\t\r\fäßあア漢한я']

/** Alternatives up to a closing bracket or the end; null where they hold what cannot be read. */
function readGroup(reader: Reader): Group | null {
  const branches: Group = [[]]
  if (++reader.groups > GROUPS_MAX) return null
  while (reader.at < reader.source.length && reader.source[reader.at] !== ')') {
    const token = take(reader, TOKEN)?.[0] ?? '\\'
    const of = token === '|' ? [] : token === '^' || token === '$' ? token : readAtom(reader, token)
    if (of === null) return null
    if (token === '|') branches.push([])
    else branches.at(-1)!.push({ of, ...readCount(reader) })
  }
  reader.at++
  reader.groups--
  return branches
}

/** RegExp decides, one by one, which characters a class or an escape matches. Letters and digits are preferred. */
function readAtom(reader: Reader, token: string): Group | Character | null {
  if (token === '\\') return null
  if (token.startsWith('(')) return readGroup(reader)
  const fits = new RegExp(`^(?:${token})$`, reader.flags)
  const codes = [...token.matchAll(/\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi)]
  const named = codes.map(([, ...hex]) => String.fromCodePoint(Number.parseInt(hex.find(Boolean)!, 16)))
  const options = [...ALPHABET, ...token, ...named].filter((each) => fits.test(each) && each.isWellFormed())
  const plain = options.filter((each) => /[a-z\d]/i.test(each))
  return options.length === 0 ? null : { fits, options: plain.length > 0 ? plain : options }
}

function readCount(reader: Reader): { least: number; most: number; lazy: boolean } {
  const [found, sign, from = '1', comma, to, lazy] = take(reader, COUNT) ?? []
  const least = sign === '*' || sign === '?' ? 0 : Number(from)
  const most = found === undefined || sign === '?' ? 1 : sign || (comma && to === '') ? Infinity : Number(to || from)
  return { least, most, lazy: lazy === '?' }
}

function take(reader: Reader, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = reader.at
  const found = expression.exec(reader.source)
  if (found !== null) reader.at += found[0].length
  return found
}
