import { unreadableReply } from '../reply-error.ts'
import type { TranslationInput, TranslationResult } from './contract.ts'

/** Translates texts of one kind, as many as it was given: `markup` for elements and entities, else plain text. */
export type TranslateTexts = (texts: readonly string[], options: { markup: boolean }) => Promise<string[]>

/**
 * Translates with a machine translator, which takes no instructions. At first each line goes out whole, with every placeholder in an element
 * `tag` that the translator leaves alone. When that answer was refused, the text between the placeholders goes out piece by piece: it
 * reads worse, but no placeholder can be lost. Line ends never go out: translators of markup take them for spaces.
 */
export async function translateAround(
  { text, violation }: TranslationInput,
  tag: string,
  translate: TranslateTexts,
): Promise<TranslationResult> {
  const whole = violation === undefined
  const { texts, join } = splitText(text, whole ? LINE_ENDS : LINE_ENDS_AND_PLACEHOLDERS)
  if (!whole) return { translation: join(await translate(texts, { markup: false })), depicted_text: [] }
  const translated = await translate(
    texts.map((each) => toMarkup(each, tag)),
    { markup: true },
  )
  return { translation: join(translated.map((each) => fromMarkup(each, tag))), depicted_text: [] }
}

/**
 * The text as markup. Characters of markup are protected like placeholders and not written as entities, which some translators resolve in
 * their answers and others do not. Control characters, which XML forbids, become spaces.
 */
function toMarkup(text: string, tag: string): string {
  return text.replace(/⟦K\d+⟧|[&<>]|(?![\t\n\r])\p{Cc}/gu, (found) => {
    if (/\p{Cc}/u.test(found)) return ' '
    const kept = found.startsWith('⟦') ? found : `⟦X${found.charCodeAt(0).toString(16)}⟧`
    return `<${tag} translate="no">${kept}</${tag}>`
  })
}

/** The text of translated markup. Throws EngineError for elements other than `tag`: none was sent. */
function fromMarkup(markup: string, tag: string): string {
  const text = markup.replace(new RegExp(`</?${tag}(?:\\s[^<>]*)?>`, 'gi'), '')
  if (/<[a-z/!?]/i.test(text)) throw unreadableReply('it holds elements that were not sent')
  return text
    .replace(/&(amp|lt|gt|quot|apos|nbsp|#39|#x27);/gi, (_, name: string) => ENTITIES[name.toLowerCase()]!)
    .replace(/⟦X(26|3c|3e)⟧/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** What the libraries of translators write. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: '\u00a0',
  apos: "'",
  '#39': "'",
  '#x27': "'",
}

type Pieces = {
  texts: string[]
  /** The whole, with the translations in place of the texts. */
  join(translated: readonly string[]): string
}

/** The text between separators, which stay as they are, as do pieces without words. */
function splitText(text: string, separators: RegExp): Pieces {
  const parts = text.split(separators)
  const open = [...parts.keys()].filter((i) => i % 2 === 0 && hasWords(parts[i]!))
  return {
    texts: open.map((i) => parts[i]!.trim()),
    join(translated) {
      const whole = [...parts]
      for (const [n, i] of open.entries()) whole[i] = fitPiece(parts, i, translated[n]!.trim())
      return whole.join('')
    },
  }
}

/** A translated piece with the white space of its original, or a space where a word would touch a placeholder. */
function fitPiece(parts: readonly string[], index: number, translated: string): string {
  const original = parts[index]!
  const before = original.slice(0, original.length - original.trimStart().length)
  const after = original.slice(original.trimEnd().length)
  const touches = (neighbor: string | undefined, edge: RegExp) => neighbor?.startsWith('⟦') && edge.test(translated)
  const first = touches(parts[index - 1], /^[\p{Letter}\p{Number}]/u) ? ' ' : ''
  const last = touches(parts[index + 1], /[\p{Letter}\p{Number}.,;:!?]$/u) ? ' ' : ''
  return (before || first) + translated + (after || last)
}

function hasWords(piece: string): boolean {
  return /\p{Letter}/u.test(piece.replace(/⟦K\d+⟧/g, ''))
}

const LINE_ENDS = /(\r\n|[\n\r\u2028\u2029])/
const LINE_ENDS_AND_PLACEHOLDERS = /(⟦K\d+⟧|\r\n|[\n\r\u2028\u2029])/
