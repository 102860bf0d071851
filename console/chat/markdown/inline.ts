import { Lexer, type MarkedToken, Tokenizer } from 'marked'

/** Formatted text within a line. Links lead to http and https addresses only. */
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'struck'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] }

/** What is deeper is plain text. */
const NESTING_MAX = 12

/** Reads emphasis, code, links and addresses of one paragraph, heading or cell, in parts as `splitLine` makes them. */
export function readInline(text: string): Inline[] {
  return joinText(splitLine(text).flatMap(readPart))
}

function readPart(text: string): Inline[] {
  const lexer = new Lexer({ gfm: true, tokenizer: TOKENIZER })
  return lexer.inlineTokens(swapWide(text)).flatMap((token) => inlineOf(token as MarkedToken, 0))
}

/** Longer paragraphs are read part by part: some texts take the lexer a time that grows with the square of their length. */
const PART_MAX = 2000

/** A text in parts of bounded length, cut between words where there are any. A part stays as it is while the text grows behind it. */
export function splitLine(text: string): string[] {
  const parts: string[] = []
  let at = 0
  while (text.length - at > PART_MAX) {
    const part = text.slice(at, at + PART_MAX)
    const length = /^[\s\S]*[\s、。]/.exec(part)?.[0].length ?? PART_MAX
    parts.push(part.slice(0, length))
    at += length
  }
  return [...parts, text.slice(at)]
}

/**
 * Punctuation of Japanese and Chinese, and places of the private area that stand for it while a text is lexed: there is no space
 * around it, so it must not decide, as other punctuation does, whether `**` opens or closes. Swapping twice gives the text back.
 */
const WIDE = /[\u2010-\u2027\u3001-\u301f\uff01-\uff65\ue001-\ue01f\ue701-\ue765\ue810-\ue827]/g
const SWAPS: Readonly<Record<number, number>> = {
  32: 0xc800,
  48: 0xd000,
  255: 0x1800,
  232: 0xc800,
  224: 0xd000,
  231: 0x1800,
}

function swapWide(text: string): string {
  return text.replace(WIDE, (character) => {
    const code = character.charCodeAt(0)
    return String.fromCharCode(code ^ SWAPS[code >> 8]!)
  })
}

const { url } = Tokenizer.prototype
/** What ends a sentence of Japanese is not part of an address. */
const ADDRESS_END = new RegExp(`[${swapWide('、。，．！？「」『』（）【】')}]`)

/** The inline rules of `marked`, but HTML is text, and an address ends where a Japanese sentence does. */
const TOKENIZER = Object.assign(new Tokenizer(), {
  tag: () => undefined,
  url(this: Tokenizer, source: string) {
    const end = source.search(ADDRESS_END)
    return url.call(this, end < 0 ? source : source.slice(0, end))
  },
})

function inlineOf(token: MarkedToken, depth: number): Inline[] {
  const inside = () =>
    'tokens' in token && token.tokens && depth < NESTING_MAX
      ? joinText(token.tokens.flatMap((each) => inlineOf(each as MarkedToken, depth + 1)))
      : textOf('text' in token ? token.text : token.raw)
  switch (token.type) {
    case 'codespan':
      return [{ kind: 'code', text: swapWide(token.text) }]
    case 'strong':
      return [{ kind: 'strong', inside: inside() }]
    case 'em':
      return [{ kind: 'emphasis', inside: inside() }]
    case 'del':
      return [{ kind: 'struck', inside: inside() }]
    case 'link':
    case 'image': {
      // External images are not fetched: that would reveal to others what is being read.
      const href = safeAddress(swapWide(token.href))
      if (!href) return textOf(token.raw)
      return [{ kind: 'link', href, inside: token.text === '' ? [{ kind: 'text', text: href }] : inside() }]
    }
    case 'br':
      return textOf('\n')
    case 'text':
    case 'escape':
      return textOf(token.text)
    default:
      return textOf(token.raw)
  }
}

function textOf(text: string): Inline[] {
  return [{ kind: 'text', text: swapWide(text) }]
}

function joinText(pieces: Inline[]): Inline[] {
  const joined: Inline[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (piece.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { kind: 'text', text: last.text + piece.text }
    else joined.push(piece)
  }
  return joined
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
