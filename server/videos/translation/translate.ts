import type { Context } from '../../context.ts'
import type { TranslationEngine } from '../../engines/translation/contract.ts'
import { countCodePoints } from '../../platform/text.ts'
import type { MovesOn, Outcome } from '../job.ts'
import { judgeText } from '../moderation/judge.ts'
import { describeFault, tryAgain } from '../pipeline/retry.ts'
import { modelOf } from '../render/served-model.ts'
import type { VideoJobRow } from '../store.ts'
import { isJapanese } from './detect-japanese.ts'
import { maskPrompt, unmask, withoutPlaceholders } from './mask.ts'
import { findViolation } from './verify.ts'

/** Puts a Japanese prompt into English for the engine, and has the English moderated too before the job goes on. */
export async function translate(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const prompt_max = modelOf(ctx, job)?.settings.prompt_max ?? null
  let result: Awaited<ReturnType<typeof translatePrompt>>
  try {
    result = await translatePrompt(ctx.engines.translation, job.prompt, signal, prompt_max)
  } catch (error) {
    signal.throwIfAborted()
    ctx.log.warn('translation_failed', { video_id: job.id, ...describeFault(error) })
    if (!(error instanceof TranslationFailure)) return tryAgain(job, 'translation_unavailable')
    // Asking again later would not help.
    const { lengths } = error
    const message = lengths === undefined ? {} : { message: tooLongMessage(lengths) }
    return { to: 'failed', code: 'translation_unavailable', ...message }
  }
  if (!result.translated) return { to: 'queued' }
  const { engine_prompt } = result
  const allowed: MovesOn = { to: 'queued', set: { engine_prompt } }
  return judgeText(ctx, job, { text: engine_prompt, stage: 'translation', allowed }, signal)
}

/** In code points. */
type Lengths = { prompt: number; english: number; max: number }

/** The text its owner reads when the English does not fit; it names a length of the prompt that would. */
function tooLongMessage({ prompt, english, max }: Lengths): string {
  const fits = Math.floor((prompt * max) / english)
  return (
    `The English translation of the prompt has ${english} characters, and the model takes at most ${max}. Nothing was billed; ` +
    `shorten the prompt from ${prompt} to about ${fits} characters, choose another model, or write the prompt in English.`
  )
}

/**
 * There is no translation for the engine: `no_engine` is configured, its answers were `unfaithful`, or the faithful one is `too_long` for
 * the model, with the `lengths`. Asking again later would not help.
 */
export class TranslationFailure extends Error {
  override name = 'TranslationFailure'
  readonly reason: 'no_engine' | 'unfaithful' | 'too_long'
  readonly lengths: Lengths | undefined

  constructor(reason: TranslationFailure['reason'], message: string, lengths?: Lengths) {
    super(message)
    this.reason = reason
    this.lengths = lengths
  }
}

/**
 * The prompt for the video engine. A prompt that is not Japanese outside dialogue and quotations stays as it is; any other is translated
 * around them, and they are restored byte for byte. `prompt_max`: how many code points the model takes, null for any number. Throws
 * TranslationFailure rather than return a prompt it could not verify, or one that does not fit; an EngineError of the engine is passed on.
 * Source: docs/engines.md, translation.
 */
export async function translatePrompt(
  engine: TranslationEngine,
  prompt: string,
  signal: AbortSignal,
  prompt_max: number | null = null,
): Promise<{ translated: boolean; engine_prompt: string }> {
  const masked = maskPrompt(prompt)
  if (!isJapanese(withoutPlaceholders(masked.text))) return { translated: false, engine_prompt: prompt }
  if (!engine.available) throw new TranslationFailure('no_engine', 'No translation engine is configured.')

  // The engine is asked once more for a faithful answer, and once more for a shorter one.
  const violations = new Map<'unfaithful' | 'too_long', string>()
  let lengths: Lengths | undefined
  for (;;) {
    const violation = violations.size === 0 ? {} : { violation: [...violations.values()].join('; ') }
    const result = await engine.translate({ text: masked.text, ...violation }, signal)
    const engine_prompt = unmask(result.translation, masked.segments)
    const unfaithful = findViolation(prompt, masked, result, engine_prompt)
    if (unfaithful !== null) {
      if (violations.has('unfaithful')) throw lengths === undefined ? unfaithfulFailure(unfaithful) : tooLong(lengths)
      violations.set('unfaithful', unfaithful)
      continue
    }
    const english = countCodePoints(engine_prompt)
    if (prompt_max === null || english <= prompt_max) return { translated: true, engine_prompt }
    lengths = { prompt: countCodePoints(prompt), english, max: prompt_max }
    const shorter = engine.literal ? null : shorterWords(lengths, masked.segments)
    if (violations.has('too_long') || shorter === null) throw tooLong(lengths)
    violations.set('too_long', shorter)
  }
}

/** The violation for the engine, which does not see the segments; null when they alone are too long. */
function shorterWords({ english, max }: Lengths, segments: readonly string[]): string | null {
  const fixed = segments.reduce((sum, segment) => sum + countCodePoints(segment), 0)
  if (fixed >= max) return null
  return `the translation must be shorter: at most ${max - fixed} characters without the tokens instead of ${english - fixed}, so say the same in fewer words`
}

function unfaithfulFailure(violation: string): TranslationFailure {
  return new TranslationFailure('unfaithful', `The translation was rejected: ${violation}.`)
}

function tooLong(lengths: Lengths): TranslationFailure {
  const { english, max } = lengths
  return new TranslationFailure('too_long', `The translation has ${english} characters, of at most ${max}.`, lengths)
}
