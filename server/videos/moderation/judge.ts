import { createHash, createHmac } from 'node:crypto'
import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { ModerationResult } from '../../engines/moderation/contract.ts'
import type { ModerationNote, MovesOn, Outcome } from '../job.ts'
import { describeFault, tryAgain } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import { textDigest } from './records.ts'
import { findAllowed, keepAllowed } from './verdicts.ts'

/** What one call judges: a text, or a picture or sound of a file. */
export type JudgedPart = {
  /** Identify what is judged, and by which engine: the first is stored, the others may have been stored under previous secrets. */
  digests: readonly string[]
  file_sha256: string | null
  /** Throws EngineError for anything but a verdict. */
  ask(signal: AbortSignal): Promise<ModerationResult>
}

export type Judgement =
  | { to: 'allow'; results: ModerationResult[] }
  | { to: 'block'; result: ModerationResult; part: JudgedPart }
  | { to: 'fault' }

/** Calls in flight for one job, so that a job with many pictures does not monopolize the engine. */
const CALLS_MAX = 4

/**
 * Judges the parts that no earlier try allowed, four calls at a time, each with the time limit of its engine. Verdicts are stored only for
 * jobs with files, unless `keepsVerdicts` says otherwise. The first block aborts the rest; after an error the other parts are still judged,
 * unless four calls in a row fail.
 */
export async function judgeParts(
  ctx: Context,
  job: VideoJobRow,
  parts: readonly JudgedPart[],
  signal: AbortSignal,
  // A prompt alone is one call: repeating it after a crash costs less than storing every verdict.
  keepsVerdicts = job.inputs.length > 0,
): Promise<Judgement> {
  if (parts.length === 0) return { to: 'allow', results: [] }
  const known = keepsVerdicts ? await findAllowed(ctx.db, job) : new Map<string, ModerationResult>()
  const knownOf = (part: JudgedPart) =>
    known.size === 0 ? undefined : part.digests.map((digest) => known.get(digest)).find((each) => each !== undefined)
  const results = parts.flatMap((part) => knownOf(part) ?? [])
  const open = parts.filter((part) => knownOf(part) === undefined)
  const blocked = new AbortController()
  const limit = AbortSignal.any([signal, blocked.signal])
  let block: Extract<Judgement, { to: 'block' }> | null = null
  let faults = 0
  let faults_in_a_row = 0

  const work = async (): Promise<void> => {
    while (block === null && faults_in_a_row < CALLS_MAX) {
      const part = open.shift()
      if (part === undefined) return
      const result = await askPart(ctx, job, part, limit)
      signal.throwIfAborted()
      if (result === null) {
        faults++
        faults_in_a_row++
      } else if (result.verdict === 'block') {
        block ??= { to: 'block', result, part }
        blocked.abort(new Error('another part was blocked'))
      } else {
        faults_in_a_row = 0
        if (keepsVerdicts) await keepAllowed(ctx.db, job, { digest: part.digests[0]!, result, now: ctx.clock.now() })
        results.push(result)
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: CALLS_MAX }, work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  if (block !== null) return block
  return faults > 0 || open.length > 0 ? { to: 'fault' } : { to: 'allow', results }
}

/** The verdict on a part; null for anything but an explicit one. */
async function askPart(
  ctx: Context,
  job: VideoJobRow,
  part: JudgedPart,
  signal: AbortSignal,
): Promise<ModerationResult | null> {
  try {
    const result = await part.ask(signal)
    if (result.verdict === 'allow' || result.verdict === 'block') return result
    throw new EngineError('transient', 'The engine gave no verdict.', { engine_code: 'unreadable' })
  } catch (error) {
    if (!signal.aborted) ctx.log.warn('moderation_failed', { video_id: job.id, ...describeFault(error) })
    return null
  }
}

/** Judges one text and turns the verdict into an outcome; `allowed` is that of an allowed text. */
export async function judgeText(
  ctx: Context,
  job: VideoJobRow,
  { text, stage, allowed }: { text: string; stage: ModerationNote['stage']; allowed: MovesOn },
  signal: AbortSignal,
): Promise<Outcome> {
  const judgement = await judgeParts(ctx, job, [textPart(ctx, text)], signal)
  if (judgement.to === 'fault') return tryAgain(job, 'moderation_unavailable')
  const record = noteOf(ctx, judgement, { stage, text, file_sha256s: [], unjudged: [] })
  if (judgement.to === 'block') return { to: 'failed', code: 'moderation_blocked', record }
  return { ...allowed, record }
}

/** The record of a judgement. The engine named is that of the text, or the one that blocked. */
export function noteOf(
  ctx: Pick<Context, 'secret'>,
  judgement: Exclude<Judgement, { to: 'fault' }>,
  about: { stage: ModerationNote['stage']; text: string } & Pick<ModerationNote, 'file_sha256s' | 'unjudged'>,
): ModerationNote {
  const { text, ...evidence } = about
  const results = judgement.to === 'block' ? [judgement.result] : judgement.results
  const { engine, version } = results[0]!
  // PostgreSQL stores neither half a character nor U+0000.
  const categories = [...new Set(results.flatMap((result) => result.categories.map(storable)))]
  return { ...evidence, verdict: judgement.to, categories, engine, version, text_digest: textDigest(ctx.secret, text) }
}

function storable(category: string): string {
  return category.toWellFormed().replaceAll('\0', '')
}

export function textPart(ctx: Context, text: string): JudgedPart {
  return {
    get digests() {
      return partDigests(ctx, ['text', text])
    },
    file_sha256: null,
    ask: (signal) => ctx.engines.moderation.moderate({ text, image: null, purpose: 'video_prompt' }, signal),
  }
}

/** A picture is judged beside the prompt: each may be harmless alone. */
export function picturePart(
  ctx: Context,
  { text, bytes, file_sha256 }: { text: string; bytes: Uint8Array; file_sha256: string },
): JudgedPart {
  const image = { media_type: 'image/jpeg', bytes }
  return {
    digests: partDigests(ctx, ['picture', text, sha256(bytes)]),
    file_sha256,
    ask: (signal) => ctx.engines.moderation.moderate({ text, image, purpose: 'video_prompt' }, signal),
  }
}

/** A sound is judged by its transcript. One without speech is allowed by the transcription itself. */
export function soundPart(ctx: Context, { wav, file_sha256 }: { wav: Uint8Array; file_sha256: string }): JudgedPart {
  const { moderation, transcription } = ctx.engines
  return {
    digests: partDigests(ctx, ['sound', sha256(wav)]),
    file_sha256,
    async ask(signal) {
      const text = await transcription!.transcribe(wav, signal)
      if (text.trim() !== '') return moderation.moderate({ text, image: null, purpose: 'video_prompt' }, signal)
      return { verdict: 'allow', categories: [], engine: 'transcription', version: transcription!.model }
    },
  }
}

/** Keyed, so that nothing can be guessed from it; other settings of moderation make another digest. */
function partDigests(ctx: Pick<Context, 'secrets' | 'config'>, what: readonly string[]): string[] {
  const { moderation, transcription } = ctx.config
  const text = JSON.stringify([moderation, transcription, ...what])
  return ctx.secrets.map((secret) => createHmac('sha256', `moderation-verdict:${secret}`).update(text).digest('hex'))
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
