import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked'

/** A self-contained piece of Markdown. Lists come item by item, so that an item is done when the next one starts. */
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

/** The last line may still belong to the block above: two lines make the head of a table and end the paragraph before it. */
const UNSETTLED = 3

/**
 * The blocks of a text. When it only grew since `before`, what was done then is kept, object for object, and only its last blocks and
 * what follows are read: the cost of a stream grows with its length, not with its square.
 */
export function readBlocks(text: string, before: Blocks = NO_BLOCKS): Blocks {
  const source = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  if (source === before.text) return before
  const settled = source.startsWith(before.text) ? Math.max(0, before.blocks.length - UNSETTLED) : 0
  const blocks = before.blocks.slice(0, settled)
  const starts = before.starts.slice(0, settled)
  let at = before.starts[settled] ?? 0
  for (const { raw, block } of lexBlocks(source.slice(at))) {
    if (block) {
      const known = before.blocks[blocks.length]
      blocks.push(known && isSame(known, block) ? known : block)
      starts.push(at)
    }
    at += raw.length
  }
  return { text: source, blocks, starts }
}

function isSame(a: Block, b: Block): boolean {
  const names = Object.keys(a) as Array<keyof Block>
  return names.every((name) => a[name] === b[name])
}

type Lexed = { raw: string; block: Block | null }

/** One level of blocks: what a quote or an item holds is read when it is shown, so that no nesting exhausts the stack. */
function lexBlocks(text: string): Lexed[] {
  const lexer = new Lexer({ gfm: true, tokenizer: TOKENIZER })
  const { blockTokens } = lexer
  lexer.blockTokens = () => {
    lexer.state.top = true
    return Object.assign([], { links: {} })
  }
  return blockTokens
    .call(lexer, text, lexer.tokens)
    .flatMap((token) => (token.type === 'list' ? itemsOf(token as Tokens.List) : lexedOf(token)))
}

const { blockquote, table } = Tokenizer.prototype
const nothing = () => undefined

/**
 * The block rules of `marked`, but for what would flicker or surprise while an answer streams: HTML is text, a line of dashes is a
 * rule and not a heading of the paragraph above it, link definitions show as they are, and what follows a quote or a
 * table on the next line is part of it only when it carries its marks.
 */
const TOKENIZER = Object.assign(new Tokenizer(), {
  html: nothing,
  lheading: nothing,
  def: nothing,
  blockquote(this: Tokenizer, source: string) {
    return blockquote.call(
      this,
      linesWhile(source, (line) => /^ {0,3}>/.test(line)),
    )
  },
  table(this: Tokenizer, source: string) {
    return table.call(
      this,
      linesWhile(source, (line) => line.includes('|')),
    )
  },
})

function linesWhile(text: string, fits: (line: string) => boolean): string {
  let end = 0
  while (end < text.length) {
    const next = text.indexOf('\n', end)
    if (!fits(text.slice(end, next < 0 ? text.length : next))) break
    end = next < 0 ? text.length : next + 1
  }
  return text.slice(0, end)
}

function itemsOf({ items, ordered, raw }: Tokens.List): Lexed[] {
  const lexed = items.map((item) => {
    const number = ordered ? Number.parseInt(item.raw, 10) : 0
    return { raw: item.raw, block: { kind: 'item', ordered, number, text: item.text } as const }
  })
  // The list may go on behind its last item by the end of a line.
  const rest = raw.slice(lexed.reduce((sum, each) => sum + each.raw.length, 0))
  return [...lexed, { raw: rest, block: null }]
}

function lexedOf(token: Token): Lexed {
  return { raw: token.raw, block: blockOf(token as MarkedToken) }
}

function blockOf(token: MarkedToken): Block | null {
  switch (token.type) {
    case 'space':
      return null
    case 'heading':
      return { kind: 'heading', level: token.depth, text: token.text }
    case 'code': {
      const [language = ''] = (token.lang ?? '').split(/\s/, 1)
      return { kind: 'code', language, text: token.text.replace(/\n$/, '') }
    }
    case 'blockquote':
      return { kind: 'quote', text: token.text }
    case 'hr':
      return { kind: 'rule' }
    case 'table': {
      const rows = [token.header, ...token.rows].map((cells) => cells.map(({ text }) => text))
      return { kind: 'table', aligns: token.align.map(alignOf), rows }
    }
    default:
      return { kind: 'paragraph', text: ('text' in token ? token.text : token.raw).trim() }
  }
}

function alignOf(align: 'center' | 'left' | 'right' | null): Align {
  if (align === 'center') return 'center'
  return align === 'right' ? 'end' : 'start'
}
