import type { Context } from '../../context.ts'
import type { TranslationEngine, TranslationResult } from '../../engines/translation/contract.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { MovesOn, Outcome } from '../job.ts'
import { judgeText } from '../moderation/judge.ts'
import { describeFault, tryAgain } from '../pipeline/retry.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import type { VideoJobRow } from '../store.ts'
import { countJapanese, hasJapanese, isJapanese, sentencesOf } from './detect-japanese.ts'
import {
  countDialogueTags,
  dialoguesOf,
  type Masked,
  maskPrompt,
  placeholders,
  unmask,
  withoutPlaceholders,
} from './mask.ts'

/** Both tries of the translator together. */
const TRANSLATION_SECONDS = 90

/** Puts a Japanese prompt into English for the engine, and has the English moderated too before the job goes on. */
export async function translate(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  let result: Awaited<ReturnType<typeof translatePrompt>>
  try {
    result = await withTimeLimit({ signal, seconds: TRANSLATION_SECONDS }, (limit) =>
      translatePrompt(ctx.engines.translation, job.prompt, limit),
    )
  } catch (error) {
    signal.throwIfAborted()
    ctx.log.warn('translation_failed', { video_id: job.id, ...describeFault(error) })
    // Two unfaithful translations, or no engine is configured: asking again later would not help.
    if (error instanceof TranslationFailure) return { to: 'failed', code: 'translation_unavailable' }
    return tryAgain(job, 'translation_unavailable')
  }
  if (!result.translated) return { to: 'queued' }
  const { engine_prompt } = result
  const allowed: MovesOn = { to: 'queued', set: { engine_prompt } }
  return judgeText(ctx, job, { text: engine_prompt, stage: 'translation', allowed }, signal)
}

/** There is no faithful translation: `no_engine` is configured, or its answers were `unfaithful`. Asking again later would not help. */
export class TranslationFailure extends Error {
  override name = 'TranslationFailure'
  readonly reason: 'no_engine' | 'unfaithful'

  constructor(reason: 'no_engine' | 'unfaithful', message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * The prompt for the video engine. A prompt that is not Japanese outside dialogue and quotations stays as it is; any other is translated
 * around them, and they are restored byte for byte. Throws TranslationFailure rather than return a prompt it could not verify; an
 * EngineError of the engine is passed on.
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

/** A second try is given what is wrong with the first answer. */
const TRIES = 2

const PROMPT_CHARACTERS_MAX = 7000
const RATIO_MIN = 0.3
const RATIO_MAX = 6

/** A translation may always be this long, whatever the ratio: English needs room even for the shortest Japanese. */
const SHORT_CHARACTERS = 80

/** Texts that one picture may show without quotation marks. */
const DEPICTED_MAX = 32

/** Depicted text may make up at most one in so many of the prompt's kana and kanji. */
const DEPICTED_SHARE = 3

/** What is wrong with an answer, in words for the engine that quote nothing of the prompt; null when it is faithful. */
function findViolation(prompt: string, masked: Masked, result: TranslationResult, whole: string): string | null {
  return (
    findLengthViolation(masked, result.translation, whole) ??
    findTokenViolation(prompt, masked, result.translation, whole) ??
    findJapanese(masked.text, result)
  )
}

function findLengthViolation(masked: Masked, translation: string, whole: string): string | null {
  if (!/\p{Letter}/u.test(withoutPlaceholders(translation))) return 'the translation is empty'
  if (hasUnstorableText(translation)) return 'the translation holds U+0000 or half of a surrogate pair'
  const length = characters(withoutPlaceholders(translation))
  const original = characters(withoutPlaceholders(masked.text))
  if (length < original * RATIO_MIN) return 'the translation is too short to say everything'
  if (length > Math.max(original * RATIO_MAX, SHORT_CHARACTERS)) return 'the translation is far longer than the prompt'
  if (characters(whole) > PROMPT_CHARACTERS_MAX)
    return `the translation must be shorter, at most ${PROMPT_CHARACTERS_MAX} characters`
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

/** Outside the tokens Japanese is allowed only as depicted text that the prompt has word for word, and only as a part of the answer. */
function findJapanese(source: string, { translation, depicted_text }: TranslationResult): string | null {
  const depicted = [...new Set(depicted_text)].sort((a, b) => b.length - a.length)
  if (depicted.length > DEPICTED_MAX) return `depicted_text may hold at most ${DEPICTED_MAX} texts`
  if (!depicted.every((text) => text !== '' && source.includes(text) && translation.includes(text)))
    return 'each depicted_text must stand word for word in both the prompt and the translation'

  const without = (text: string) => depicted.reduce((rest, part) => rest.replaceAll(part, ' '), text)
  const answer = withoutPlaceholders(translation)
  if (hasJapanese(without(answer))) return 'Japanese is left outside the tokens and depicted_text'
  const original = withoutPlaceholders(source)
  if (countJapanese(answer) * DEPICTED_SHARE > countJapanese(original)) return 'too much is left in Japanese'
  if (sentencesOf(original).some((sentence) => hasJapanese(sentence) && !hasJapanese(without(sentence))))
    return 'a whole sentence is left in Japanese'
  return null
}

function characters(text: string): number {
  return [...text.trim()].length
}
