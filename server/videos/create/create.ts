import type { AuditGate } from '../../billing/audit-state.ts'
import { quoteVideo } from '../../billing/pricing.ts'
import type { StorageGate } from '../../billing/storage/gate.ts'
import { entitledVideoModel, planOf } from '../../catalog/entitlements.ts'
import type { VideoModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import type { Db } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { isId, newId } from '../../platform/ids.ts'
import { shape } from '../../platform/schema/validate.ts'
import { countCodePoints, isLongerThan } from '../../platform/text.ts'
import { requireAcceptance } from '../acceptance.ts'
import { requireJudgeable } from '../moderation/coverage.ts'
import { recordCreated } from '../pipeline/job-telemetry.ts'
import { VIDEO_TOPIC } from '../queues.ts'
import { CreateVideo, type SubmittedFile, VariationsOf, type VideoView, videoView } from '../schema.ts'
import { findJob, type NewVideoJob } from '../store.ts'
import { needsTranslation } from '../translation/mask.ts'
import { admitJobs } from './admit.ts'
import { type Frame, withFrameFile } from './frame.ts'
import { bodyDigests, keepReserved, type Remembered, type Reservation, releaseKey, reserveKey } from './idempotency.ts'
import { fromOpenAi, inOpenAiWords, isOpenAiShape, withReplacement } from './openai-fields.ts'
import { findReferencedFiles, namedFiles, requireCapable, requireConsistentReferences } from './references.ts'

/**
 * `has_count`: the body says how many jobs to create of it, as that of `POST /console/videos/variations` does.
 * `frame`: the picture that `input_reference` of the body stands for. `signal`: ends the inspection of frame and references.
 */
export type Submission = {
  request_id: string
  idempotency_key: string | undefined
  body: unknown
  has_count: boolean
  frame: Frame | null
  signal: AbortSignal
}

/** They keep new jobs out: `audit` while the books do not balance, `storage` while the organization has no room. */
export type Gates = { audit: AuditGate; storage: StorageGate }

/** What rejects a submission, beside what any route may. */
export const CREATE_ERRORS = [
  'intake_paused',
  'insufficient_credits',
  'agreement_required',
  'model_not_found',
  'storage_limit_exceeded',
  'concurrency_limit_exceeded',
] as const

const checkShape = shape(CreateVideo)
const checkVariations = shape(VariationsOf)

/** Stands for the file of a picture that is not a file yet. */
const NO_FILE_YET = 'file-of-this-form'

/** How many jobs a body asks for, what they were made from, and what each of them is. Throws ApiError 400. */
function readCount({ body, has_count }: Submission): { count: number; made_from: string | null; one: unknown } {
  if (!has_count) return { count: 1, made_from: null, one: body }
  const { count, made_from = null, ...one } = checkVariations(body)
  return { count, made_from, one }
}

/**
 * Reads a body of OpenAI's shape as ours. Throws ApiError 400; in a body of ours a field that only the OpenAI API has is rejected with the name
 * of its replacement.
 */
function checkBody(body: unknown, frame: Frame | null): CreateVideo {
  try {
    return checkShape(isOpenAiShape(body) ? fromOpenAi(body, frame && NO_FILE_YET) : body)
  } catch (error) {
    throw withReplacement(error, body)
  }
}

/**
 * Accepts the jobs of a request once for its idempotency key: the first answer is replayed, a rejection releases the key.
 * The body is parsed, not yet validated: the contract checks the key and the agreement before the body's shape.
 */
export async function submitVideos(
  ctx: Context,
  gates: Gates,
  principal: Principal,
  submission: Submission,
): Promise<{ videos: VideoView[]; replayed: boolean }> {
  const { idempotency_key: key, body } = submission
  if (key === undefined)
    return { videos: await createJobs(ctx, gates, principal, { ...submission, reservation: null }), replayed: false }

  const body_digests = await bodyDigests(ctx.secrets, body)
  const reserved = await reserveKey(ctx.db, { org_id: principal.org_id, key, body_digests }, ctx.clock.now())
  if ('remembered' in reserved)
    return { videos: await replay(ctx.db, principal, submission, reserved.remembered), replayed: true }
  failpoint('key_reserved')
  const { reservation } = reserved
  const kept = keepReserved(ctx.db, ctx.clock, reservation)
  try {
    return { videos: await createJobs(ctx, gates, principal, { ...submission, reservation }), replayed: false }
  } catch (error) {
    await releaseKey(ctx.db, reservation)
    throw error
  } finally {
    kept.stop()
  }
}

/** Accepts jobs: checks, quotes, sets the money aside and stores them as `moderating`. Charges nothing. */
async function createJobs(
  ctx: Context,
  gates: Gates,
  principal: Principal,
  submission: Submission & { reservation: Reservation | null },
): Promise<VideoView[]> {
  ctx.switches.requireIntake() // 503 intake_paused
  await requireAcceptance(ctx, principal) // 403 agreement_required
  const { frame, signal } = submission
  const { one, ...set } = readCount(submission) // 400
  try {
    const body = checkBody(one, frame) // 400
    requireConsistentReferences(body) // 400
    const model = entitledVideoModel(ctx.config, principal.plan, body.model) // 404 model_not_found
    requireCapable(body, ctx.engines.video.get(model.id)!) // 400
    requireFittingPrompt(body, model.prompt_max) // 400
    if (!frame) return await acceptJobs(ctx, gates, principal, { ...submission, ...set, checked: body, model })
    return await withFrameFile(ctx, principal, { ...frame, signal }, (file_id) => {
      const checked: CreateVideo = { ...body, image_reference: [{ file_id, role: 'first_frame' }] }
      return acceptJobs(ctx, gates, principal, { ...submission, ...set, checked, model })
    })
  } catch (error) {
    throw isOpenAiShape(one) ? inOpenAiWords(error, one) : error
  }
}

/** The checks that need files and balance, then the jobs. */
async function acceptJobs(
  ctx: Context,
  gates: Gates,
  principal: Principal,
  submission: Submission & {
    reservation: Reservation | null
    checked: CreateVideo
    model: VideoModelConfig
    count: number
    made_from: string | null
  },
): Promise<VideoView[]> {
  const { request_id, reservation, checked: body, model, count, signal } = submission
  const { made_from: named } = submission
  const { org_id, user_id, key_id } = principal
  const now = ctx.clock.now()
  const running_max = planOf(ctx.config, principal.plan).max_concurrent_renders
  requireSlots(count, running_max) // 400
  const inputs = await findReferencedFiles(ctx.db, org_id, body, now) // 400
  await requireJudgeable(ctx, org_id, { body, inputs, signal }) // 400

  const isKnown = named !== null && isId('video', named) && (await findJob(ctx.db, org_id, named)) !== null
  const made_from = isKnown ? named : null
  const { prompt, seconds, aspect_ratio } = body
  const { per_second } = model
  const cost = quoteVideo(per_second, seconds)
  const { currency } = ctx.config
  const jobs = Array.from(
    { length: count },
    (): NewVideoJob => ({
      id: newId('video', now),
      org_id,
      user_id,
      key_id,
      request_id,
      created_at: now,
      model: model.id,
      prompt,
      seconds,
      aspect_ratio,
      inputs,
      per_second,
      cost,
      currency,
      made_from,
    }),
  )
  await gates.storage.requireRoom(ctx.config, principal) // 413
  await gates.audit.requireSoundAccounts() // 503
  await admitJobs(ctx, { jobs, running_max, reservation }) // 402, 429
  failpoint('after_create')
  for (const job of jobs) {
    recordCreated(ctx, job)
    ctx.changes.announce(VIDEO_TOPIC, job.id)
  }
  const job_ids = jobs.map(({ id }) => id)
  return firstViews(body, { job_ids, inputs, cost, currency, created_at: now })
}

/** Rejects jobs that could never start together, however long the caller waits. Throws ApiError 400. */
function requireSlots(count: number, running_max: number): void {
  if (count === 1 || count <= running_max) return
  const text = `Your plan allows ${running_max} renders in progress, so ${count} can never start together. Send fewer at a time.`
  throw new ApiError('invalid_value', text, { param: 'count' })
}

/**
 * Rejects a prompt that reaches the engine as it is and is longer than the model takes. How long one is that has to be translated shows
 * only in English: it is accepted whatever its length. Throws ApiError 400.
 */
function requireFittingPrompt({ model, prompt }: CreateVideo, prompt_max: number | null): void {
  if (prompt_max === null || !isLongerThan(prompt, prompt_max) || needsTranslation(prompt)) return
  const text = `Invalid 'prompt': string too long. The model '${model}' takes at most ${prompt_max} characters, but this prompt has ${countCodePoints(prompt)}. Shorten it, or choose another model.`
  throw new ApiError('string_above_max_length', text, { param: 'prompt' })
}

/** The answer as first sent. The file that a frame became is known to the job alone: without one when the job is deleted by then. */
async function replay(
  db: Db,
  { org_id }: Principal,
  submission: Submission,
  remembered: Remembered,
): Promise<VideoView[]> {
  const { frame } = submission
  const checked = checkBody(readCount(submission).one, frame)
  const inputs = frame ? ((await findJob(db, org_id, remembered.job_ids[0]!))?.inputs ?? []) : namedFiles(checked)
  return firstViews(checked, { ...remembered, inputs })
}

/** The answer as first sent, whatever the status of the jobs is. */
function firstViews(
  body: CreateVideo,
  { job_ids, ...made }: Remembered & { inputs: readonly SubmittedFile[] },
): VideoView[] {
  const first = {
    status: 'moderating',
    error_code: null,
    error_message: null,
    error_categories: null,
    progress: 0,
  } as const
  const times = { completed_at: null, finished_at: null }
  return job_ids.map((id) => videoView({ ...body, ...first, ...times, ...made, id }))
}
