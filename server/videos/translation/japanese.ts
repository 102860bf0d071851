import { JAPANESE_FORMS, SIMPLIFIED_FORMS } from './kanji-forms.ts'

/** What ends a line of a prompt. */
export const LINE_END = /\r\n|[\n\r\u2028\u2029]/u

/**
 * Whether text is Japanese and so has to be translated: one Japanese sentence is enough. With kana a sentence is Japanese when kana and
 * kanji are at least 30 % of its letters, so a name or a sign does not make English Japanese; kanji alone, at least half of the letters,
 * needs a form that only Japan writes. Neither holds with a form that only simplified Chinese writes. Pass it the text without dialogue
 * and quotations.
 * Source: docs/engines.md, translation.
 */
export function isJapanese(text: string): boolean {
  return sentencesOf(text).some(isJapaneseSentence)
}

export function sentencesOf(text: string): string[] {
  return text.split(/[\n\r\u2028\u2029。．.！!？?]+/u).filter((sentence) => /\p{Letter}/u.test(sentence))
}

/** True when kana, full or half width, or kanji stand in the text. */
export function hasJapanese(text: string): boolean {
  return JAPANESE_LETTER.test(text)
}

export function isJapaneseLetter(character: string): boolean {
  return JAPANESE_LETTER.test(character)
}

/** How many kana and kanji stand in the text. */
export function countJapanese(text: string): number {
  return count(text, JAPANESE_LETTERS)
}

const KANA_SHARE_MIN = 0.3
const KANJI_SHARE_MIN = 0.5

const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u

/** Kana with the marks of length and voice that Unicode counts to no script, and kanji with 〆. */
const JAPANESE_LETTER = /[[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ーｰﾞﾟ〆]&&\p{Letter}]/v
const JAPANESE_LETTERS = new RegExp(JAPANESE_LETTER, 'gv')

function isJapaneseSentence(sentence: string): boolean {
  const letters = count(sentence, /\p{Letter}/gu)
  const share = countJapanese(sentence) / letters
  const characters = [...sentence]
  if (characters.some((character) => SIMPLIFIED_FORMS.has(character))) return false
  if (KANA.test(sentence)) return share >= KANA_SHARE_MIN
  return share >= KANJI_SHARE_MIN && characters.some((character) => JAPANESE_FORMS.has(character))
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
