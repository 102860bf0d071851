/** A piece of Markdown that stands for itself. Lists come item by item, so that an item is done when the next one begins. */
export type Block =
  | { kind: 'paragraph'; text: string }
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; text: string }
  | { kind: 'item'; ordered: boolean; number: number; text: string }
  | { kind: 'table'; aligns: Align[]; rows: string[][] }
  | { kind: 'rule' }
export type Align = 'start' | 'center' | 'end'

/** What is known of a text that grows: its blocks, and where each begins. */
export type Blocks = { text: string; blocks: readonly Block[]; starts: readonly number[] }

export const NO_BLOCKS: Blocks = { text: '', blocks: [], starts: [] }

/** Half a line may still turn out to belong to the block before the one it seems to begin. */
const UNSETTLED = 2

/**
 * The blocks of a text. When it only grew since `before`, what was done then is kept, object for object, and only its last two blocks and
 * what follows are read: the cost of a stream grows with its length, not with its square.
 */
export function readBlocks(text: string, before: Blocks = NO_BLOCKS): Blocks {
  if (text === before.text) return before
  const settled = text.startsWith(before.text) ? Math.max(0, before.blocks.length - UNSETTLED) : 0
  const blocks = before.blocks.slice(0, settled)
  const starts = before.starts.slice(0, settled)
  for (let at = before.starts[settled] ?? 0; at < text.length; ) {
    const { block, end } = readBlock(text, at)
    if (block) {
      const known = before.blocks[blocks.length]
      blocks.push(known && isSame(known, block) ? known : block)
      starts.push(at)
    }
    at = end
  }
  return { text, blocks, starts }
}

function isSame(a: Block, b: Block): boolean {
  const names = Object.keys(a) as Array<keyof Block>
  return names.every((name) => a[name] === b[name])
}

const FENCE = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*$)/
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/

type Read = { block: Block | null; end: number }
type Line = { text: string; end: number }

/** One block, from the beginning of a line; blank lines before it make no block. */
function readBlock(text: string, at: number): Read {
  const line = lineAt(text, at)
  if (line.text.trim() === '') return { block: null, end: line.end }
  const fence = FENCE.exec(line.text)
  if (fence) return readCode(text, line, fence)
  const heading = HEADING.exec(line.text)
  if (heading) {
    const said = line.text.slice(heading[0].length).trim()
    const level = heading[1]!.length
    return { block: { kind: 'heading', level, text: said.replace(/(?<![^ \t])#+$/, '').trimEnd() }, end: line.end }
  }
  if (RULE.test(line.text)) return { block: { kind: 'rule' }, end: line.end }
  if (QUOTE.test(line.text)) return readQuote(text, at)
  const item = ITEM.exec(line.text)
  if (item) return readItem(text, line, item)
  return readTable(text, line) ?? readParagraph(text, at)
}

function lineAt(text: string, at: number): Line {
  const found = text.indexOf('\n', at)
  const end = found < 0 ? text.length : found
  return { text: text.slice(at, end).replace(/\r$/, ''), end: Math.min(text.length, end + 1) }
}

/** A fence that is not closed yet goes to the end of the text. */
function readCode(text: string, opening: Line, [, ticks, tildes = '']: RegExpExecArray): Read {
  const mark = ticks ?? tildes
  const [language = ''] = opening.text.trim().slice(mark.length).trim().split(/\s/, 1)
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`)
  const lines: string[] = []
  let at = opening.end
  while (at < text.length) {
    const line = lineAt(text, at)
    at = line.end
    if (closing.test(line.text)) break
    lines.push(line.text)
  }
  return { block: { kind: 'code', language, text: lines.join('\n') }, end: at }
}

function readQuote(text: string, start: number): Read {
  const lines: string[] = []
  let at = start
  while (at < text.length) {
    const line = lineAt(text, at)
    if (!QUOTE.test(line.text)) break
    lines.push(line.text.replace(QUOTE, ''))
    at = line.end
  }
  return { block: { kind: 'quote', text: lines.join('\n') }, end: at }
}

/** An item goes on in lines that stand in as far as its text, and in lines that plainly continue its paragraph. */
function readItem(text: string, first: Line, [whole, indent = '', marker = '']: RegExpExecArray): Read {
  const width = Math.min(whole.length, indent.length + marker.length + 4)
  const lines = [first.text.slice(whole.length)]
  let at = first.end
  let end = at
  let blank = false
  while (at < text.length) {
    const line = lineAt(text, at)
    at = line.end
    if (line.text.trim() === '') {
      blank = true
      lines.push('')
      continue
    }
    const inside = indentOf(line.text) >= Math.min(width, 2 + indent.length)
    if (!inside && (blank || beginsBlock(line.text))) break
    lines.push(inside ? dedent(line.text, width) : line.text)
    blank = false
    end = at
  }
  const number = /\d/.test(marker) ? Number.parseInt(marker, 10) : 0
  const said = lines.join('\n').trimEnd()
  return { block: { kind: 'item', ordered: /\d/.test(marker), number, text: said }, end }
}

function indentOf(line: string): number {
  return line.length - line.replace(/^[ \t]+/, '').length
}

function dedent(line: string, width: number): string {
  return line.slice(Math.min(width, indentOf(line)))
}

function beginsBlock(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line))
}

function readTable(text: string, head: Line): Read | null {
  if (!head.text.includes('|')) return null
  const delimiters = lineAt(text, head.end)
  if (!delimiters.text.includes('-') || !DELIMITERS.test(delimiters.text)) return null
  const names = cellsOf(head.text)
  const aligns = cellsOf(delimiters.text).map(alignOf)
  if (names.length !== aligns.length) return null
  const rows = [names]
  let at = delimiters.end
  while (at < text.length) {
    const line = lineAt(text, at)
    if (!line.text.includes('|')) break
    const cells = cellsOf(line.text)
    rows.push(aligns.map((_, i) => cells[i] ?? ''))
    at = line.end
  }
  return { block: { kind: 'table', aligns, rows }, end: at }
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function alignOf(delimiter: string): Align {
  if (!delimiter.endsWith(':')) return 'start'
  return delimiter.startsWith(':') ? 'center' : 'end'
}

function readParagraph(text: string, start: number): Read {
  const lines: string[] = []
  let at = start
  while (at < text.length) {
    const line = lineAt(text, at)
    // Only a list that begins with 1 may break a paragraph: other numbers begin lines of prose.
    const breaks = beginsBlock(line.text) && !/^ {0,3}(?!1[.)])\d/.test(line.text)
    if (line.text.trim() === '' || (lines.length > 0 && breaks)) break
    lines.push(line.text)
    at = line.end
  }
  return { block: { kind: 'paragraph', text: lines.join('\n').trim() }, end: at }
}
