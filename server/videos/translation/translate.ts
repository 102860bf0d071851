import type { Context } from '../../context.ts'
import type { MovesOn, Outcome } from '../job.ts'
import { judgeText } from '../moderation/judge.ts'
import { describeFault, tryAgain } from '../pipeline/retry.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import type { VideoJobRow } from '../store.ts'
import { TranslationFailure, translatePrompt } from './translate-prompt.ts'

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
    // The translator answered and its answer was no good, twice; or there is none. Asking again later would not help.
    if (error instanceof TranslationFailure) return { to: 'failed', code: 'translation_unavailable' }
    return tryAgain(job, 'translation_unavailable')
  }
  if (!result.translated) return { to: 'queued' }
  const { engine_prompt } = result
  const allowed: MovesOn = { to: 'queued', set: { engine_prompt } }
  return judgeText(ctx, job, { text: engine_prompt, stage: 'translation', allowed }, signal)
}
