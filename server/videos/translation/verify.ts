import type { TranslationResult } from '../../engines/translation/contract.ts'
import { countCodePoints, hasUnstorableText } from '../../platform/text.ts'
import { countJapanese, hasJapanese, sentencesOf } from './detect-japanese.ts'
import { countDialogueTags, dialoguesOf, type Masked, placeholders, withoutPlaceholders } from './mask.ts'

/**
 * What is wrong with an answer, in words for the engine that quote nothing of the prompt; null when it is faithful. How long it may be
 * is another question. `whole`: the answer with its segments restored.
 */
export function findViolation(prompt: string, masked: Masked, result: TranslationResult, whole: string): string | null {
  const depicted = [...new Set(result.depicted_text)].sort((a, b) => b.length - a.length)
  return (
    findListViolation(masked.text, result.translation, depicted) ??
    findLengthViolation(masked.text, result.translation, depicted) ??
    findTokenViolation(prompt, masked, result.translation, whole) ??
    findJapanese(masked.text, result.translation, depicted)
  )
}

const RATIO_MIN = 0.3
const RATIO_MAX = 6

/** A translation may always be this long, whatever the ratio: English needs room even for the shortest Japanese. */
const SHORT_CHARACTERS = 80

/** Texts that one picture may show without quotation marks. */
const DEPICTED_MAX = 32

/** Depicted text that neither the prompt nor the answer marks as such may be one in so many of the prompt's kana and kanji. */
const DEPICTED_SHARE = 3

function findListViolation(source: string, translation: string, depicted: readonly string[]): string | null {
  if (hasUnstorableText(translation)) return 'the translation holds U+0000 or half of a surrogate pair'
  if (depicted.length > DEPICTED_MAX) return `depicted_text may hold at most ${DEPICTED_MAX} texts`
  if (!depicted.every((text) => text !== '' && source.includes(text) && translation.includes(text)))
    return 'each depicted_text must stand word for word in both the prompt and the translation'
  return null
}

/** Compares what was translated: depicted text and segments stay as they are. */
function findLengthViolation(source: string, translation: string, depicted: readonly string[]): string | null {
  const rest = without(withoutPlaceholders(translation), depicted)
  if (!/\p{Letter}/u.test(rest)) return 'the translation is empty'
  const length = countCodePoints(rest.trim())
  const original = countCodePoints(without(withoutPlaceholders(source), depicted).trim())
  if (length < original * RATIO_MIN) return 'the translation is too short to say everything'
  if (length > Math.max(original * RATIO_MAX, SHORT_CHARACTERS)) return 'the translation is far longer than the prompt'
  return null
}

function findTokenViolation(prompt: string, { segments }: Masked, translation: string, whole: string): string | null {
  const found = placeholders(translation)
  const sorted = found.toSorted((a, b) => a - b)
  if (sorted.length !== segments.length || sorted.some((index, i) => index !== i))
    return 'every ⟦Kn⟧ token must stand in the translation unchanged and exactly once'
  if (/[⟦⟧]/.test(withoutPlaceholders(translation))) return 'no token may be added or changed'
  if (countDialogueTags(whole) !== countDialogueTags(prompt)) return 'no <d> tag may be added'
  const [before, after] = [dialoguesOf(prompt), dialoguesOf(whole)]
  if (before.length !== after.length || before.some((dialogue, i) => dialogue !== after[i]))
    return 'the tokens must stay in their order, and one that ends a line must end its line'
  return null
}

/**
 * Outside the tokens Japanese is allowed only as depicted text that the prompt has word for word. A translator could list what it did not
 * translate, so a sentence may be depicted text only behind a label such as テロップ：, and what has neither a label nor quotation marks
 * only as a part of the whole.
 */
function findJapanese(source: string, translation: string, depicted: readonly string[]): string | null {
  const [original, answer] = [withoutPlaceholders(source), withoutPlaceholders(translation)]
  if (hasJapanese(without(answer, depicted))) return 'Japanese is left outside the tokens and depicted_text'
  const marked = depicted.filter((text) => isLabeled(original, text) || isQuoted(answer, text))
  const unmarked = marked.reduce((rest, text) => withoutAsOftenAs(rest, text, original), answer)
  if (countJapanese(unmarked) * DEPICTED_SHARE > countJapanese(original))
    return 'too much is left in Japanese: translate it, and put text that appears in the picture in quotes'
  const sentences = sentencesOf(original.replace(LABELED, (found, text: string) => found.slice(0, -text.length)))
  if (sentences.some((sentence) => hasJapanese(sentence) && !hasJapanese(without(sentence, depicted))))
    return 'a whole sentence is left in Japanese'
  return null
}

/**
 * Text that follows a word for depicted text and a colon or bracket, to the end of its line or, when nothing follows there, of the next one:
 * `テロップ：本日開店`, `【字幕】ありがとう。また明日。`
 */
const LABELED = new RegExp(
  `(?:${[
    ...['テロップ', '字幕', 'キャプション', 'タイトル', '題名', '題字', '見出し', 'コピー', 'ロゴ', 'クレジット'],
    ...['看板', '標識', '貼り紙', '張り紙', 'ポスター', '横断幕', '垂れ幕', 'のぼり', '文字', '文言', 'テキスト'],
  ].join('|')})[^\\n。：:】］)）\\]]{0,12}[：:】］)）\\]][ \\t\\r\u3000]*\\n?([^\\n]+)`,
  'gu',
)

function isLabeled(original: string, text: string): boolean {
  return [...original.matchAll(LABELED)].some(([, labeled]) => labeled!.includes(text))
}

/** Within single quotation marks no Latin letter: they would be apostrophes. */
const QUOTED = /"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|['‘][^'‘’\n\p{Script=Latin}]*['’]/gu

function isQuoted(answer: string, text: string): boolean {
  return [...answer.matchAll(QUOTED)].some(([quotation]) => quotation.includes(text))
}

function without(text: string, parts: readonly string[]): string {
  return parts.reduce((rest, part) => rest.replaceAll(part, ' '), text)
}

/** `text` without as many occurrences of `part` as `original` has: one that is shown once in the prompt may not be repeated. */
function withoutAsOftenAs(text: string, part: string, original: string): string {
  let left = original.split(part).length - 1
  return text.replaceAll(part, (found) => (left-- > 0 ? ' ' : found))
}
