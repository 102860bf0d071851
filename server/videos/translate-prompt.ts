import type { TranslationEngine, TranslationResult } from '../engines/translation.ts'
import { hasKana, isJapanese } from './japanese.ts'
import {
  dialogues,
  hasDialogueTag,
  type Masked,
  maskPrompt,
  placeholders,
  unmask,
  withoutPlaceholders,
} from './mask.ts'

/** No faithful translation can be had: `no_engine` is configured, or its answers were `unfaithful`. Asking again later would not help. */
export class TranslationFailure extends Error {
  override name = 'TranslationFailure'
  readonly reason: 'no_engine' | 'unfaithful'

  constructor(reason: 'no_engine' | 'unfaithful', message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * The prompt as the engine gets it. What is not Japanese outside dialogue and quotations stays as it is; the rest is translated around
 * them, and they come back byte for byte. Throws TranslationFailure rather than return a prompt it could not verify; an EngineError of
 * the engine rises as it is.
 * Source: docs/engines.md, translation.
 */
export async function translatePrompt(
  engine: TranslationEngine,
  prompt: string,
  signal: AbortSignal,
): Promise<{ translated: boolean; engine_prompt: string }> {
  const masked = maskPrompt(prompt)
  if (!isJapanese(withoutPlaceholders(masked.text))) return { translated: false, engine_prompt: prompt }
  if (!engine.available) throw new TranslationFailure('no_engine', 'No translation engine is configured.')

  let violation: string | undefined
  for (let tries = 0; tries < TRIES; tries++) {
    const input = { text: masked.text, ...(violation === undefined ? {} : { violation }) }
    const result = await engine.translate(input, signal)
    const engine_prompt = unmask(result.translation, masked.segments)
    violation = findViolation(prompt, masked, result, engine_prompt) ?? undefined
    if (violation === undefined) return { translated: true, engine_prompt }
  }
  throw new TranslationFailure('unfaithful', `The translation was refused: ${violation}.`)
}

/** One answer, and one more that was told what is wrong with the first. */
const TRIES = 2

const PROMPT_CHARACTERS_MAX = 7000
const RATIO_MIN = 0.3
const RATIO_MAX = 6

/** English needs this much room for even the shortest Japanese, whatever the ratio. */
const SHORT_CHARACTERS = 80

/** What is wrong with an answer, in words for the engine and free of the prompt's own; null when it is faithful. */
function findViolation(
  prompt: string,
  masked: Masked,
  { translation, depicted_text }: TranslationResult,
  whole: string,
): string | null {
  const expected = masked.segments.map((_, i) => i).join()
  const found = placeholders(translation).sort((a, b) => a - b)
  if (found.join() !== expected) return 'every ⟦Kn⟧ token must stand in the translation unchanged and exactly once'
  if (/[⟦⟧]/.test(withoutPlaceholders(translation))) return 'no token may be added or changed'
  if (hasDialogueTag(translation)) return 'no <d> tag may be added'
  if (!depicted_text.every((text) => text !== '' && masked.text.includes(text) && translation.includes(text)))
    return 'each depicted_text must stand word for word in both the prompt and the translation'

  const said = withoutDepicted(withoutPlaceholders(translation), depicted_text)
  if (!/\p{Letter}/u.test(said)) return 'the translation is empty'
  if (hasKana(said) || isJapanese(said)) return 'Japanese is left outside the tokens and depicted_text'
  const length = characters(withoutPlaceholders(translation))
  const original = characters(withoutPlaceholders(masked.text))
  if (length < original * RATIO_MIN) return 'the translation is too short to say everything'
  if (length > Math.max(original * RATIO_MAX, SHORT_CHARACTERS)) return 'the translation is far longer than the prompt'
  if (characters(whole) > PROMPT_CHARACTERS_MAX)
    return `the translation must be shorter, at most ${PROMPT_CHARACTERS_MAX} characters`
  if (!sameDialogues(prompt, whole)) return 'the tokens must stay in their order'
  return null
}

/** The same lines in the same order. Masking keeps them whole; it is checked all the same, for dialogue must never be altered. */
function sameDialogues(prompt: string, whole: string): boolean {
  const before = dialogues(prompt)
  const after = dialogues(whole)
  return before.length === after.length && before.every((segment, i) => segment === after[i])
}

function withoutDepicted(text: string, depicted: readonly string[]): string {
  return [...depicted].sort((a, b) => b.length - a.length).reduce((rest, part) => rest.replaceAll(part, ' '), text)
}

function characters(text: string): number {
  return [...text.trim()].length
}
