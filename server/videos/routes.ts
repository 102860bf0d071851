import { deleteReleasedHolds } from '../billing/store.ts'
import type { Context } from '../context.ts'
import { actorOf } from '../identity/activity/activity.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { recordDeletion, requireMayDelete } from '../identity/organization/deletions.ts'
import { removeUnneeded } from '../platform/blobs/remove.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { whileConnected } from '../platform/http/abort-on-disconnect.ts'
import { isId } from '../platform/ids.ts'
import { acceptTerms, readAcceptance } from './acceptance.ts'
import { sendPolled } from './answer.ts'
import { readArchive } from './archive/route.ts'
import type { JobCache } from './cache.ts'
import { readVariant, sendContent } from './content.ts'
import { CREATE_ERRORS, type Gates, submitVideos } from './create/create.ts'
import { declaredFrameBytes, type Frame } from './create/frame.ts'
import { readIdempotencyKey } from './create/idempotency.ts'
import { readMultipartBody } from './create/multipart-body.ts'
import { describeJob, isTerminal } from './job.ts'
import { labelRoutes } from './labels/routes.ts'
import { listVideos } from './list/route.ts'
import { videoModelRoutes } from './models.ts'
import { cancelJob, engineStops, isStalled } from './pipeline/cancel.ts'
import type { Job } from './pipeline/store.ts'
import { DELETED_TOPIC, VIDEO_TOPIC } from './queues.ts'
import { AcceptanceView, AcceptTerms, ContentQuery, CreateVideo, DeletedVideo, VideoView, videoView } from './schema.ts'
import { sharingRoutes } from './sharing/routes.ts'
import { deleteEndedJob, findJob } from './store.ts'
import type { Variants } from './variants/prepare.ts'
import { FORMS } from './variants/variant.ts'

/** How long a poller should wait, in milliseconds; SDK helpers obey it. */
const POLL_AFTER_MS = '10000'

const common = { auth: 'api_key_or_session', plain_400: true } as const

const readTerms = route({
  ...common,
  method: 'GET',
  path: '/v1/videos/acceptance',
  summary: 'Whether you have agreed to the video terms',
  description: 'Every person agrees for themselves, and again when the terms change. Jobs cannot be submitted before.',
  response: AcceptanceView,
  async handle(ctx, { principal }) {
    return readAcceptance(ctx, principal)
  },
})

const agreeToTerms = route({
  ...common,
  method: 'POST',
  path: '/v1/videos/acceptance',
  auth: 'session',
  summary: 'Agree to the video terms, from a console login only',
  description: 'Names the version that was read; another than the one in force is rejected.',
  body: AcceptTerms,
  response: AcceptanceView,
  errors: ['terms_version_mismatch'],
  example: { terms_version: '2026-11-01' },
  async handle(ctx, { principal, body }) {
    const { session_id } = principal
    if (session_id === null)
      throw new ApiError('console_login_required', 'Sign in to the console to agree to the terms.')
    await acceptTerms(ctx, { ...principal, session_id }, body.terms_version)
    return readAcceptance(ctx, principal)
  },
})

const cancelVideo = route({
  ...common,
  method: 'POST',
  path: '/v1/videos/:video_id/cancel',
  summary: 'Cancel a job that has not ended; 409 when its engine cannot stop a render that has begun',
  description: 'What was reserved for the job is released. A job that was canceled before is returned as it is.',
  response: VideoView,
  errors: ['conflict'],
  async handle(ctx, { principal, params }) {
    const id = requireVideoId(params.video_id!)
    const job = { org_id: principal.org_id, id, by: actorOf(principal) }
    const mayStop = async (running: Job) => (await engineStops(ctx, running)) || isStalled(ctx, running)
    return videoView(await cancelJob(ctx, job, mayStop))
  },
})

const deleteVideo = route({
  ...common,
  method: 'DELETE',
  path: '/v1/videos/:video_id',
  summary: 'Delete a job that has ended, with its video',
  description: 'The video, thumbnail and spritesheet are deleted; charges stay in the ledger.',
  response: DeletedVideo,
  errors: ['conflict', 'permission_denied'],
  async handle(ctx, { principal, params }) {
    const id = requireVideoId(params.video_id!)
    await removeJob(ctx, principal, id)
    return { id, object: 'video', deleted: true }
  },
})

function createVideo(gates: Gates): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/v1/videos',
    summary: 'Submit a video job',
    description:
      'The cost is reserved from the balance and a render slot is taken, or the job does not exist. Poll the job, or receive a webhook, until it has ended.',
    accepts: ['json', 'multipart'],
    body: CreateVideo,
    form: 'The members of the JSON body as fields; objects, and lists of them, as parts of JSON. Or those of the OpenAI videos API: `size` (`720x1280`, `1280x720`, `1024x1792` or `1792x1024`) in place of `aspect_ratio`, and `input_reference`, a picture, as the first frame; `seconds` is then 4 by default.',
    body_check: 'handler',
    response: VideoView,
    idempotent: true,
    headers: { 'idempotent-replayed': 'sometimes' },
    errors: CREATE_ERRORS,
    example: {
      model: 'storyboard-1',
      prompt: 'A paper boat on a calm lake. <d>Off we go!</d>',
      seconds: 5,
      aspect_ratio: '16:9',
    },
    async handle(ctx, { principal, request, reply }) {
      const form = request.isMultipart()
        ? gates.storage.beginReceiving(principal.org_id, declaredFrameBytes(request))
        : null
      let frame: Frame | null = null
      try {
        let { body } = request
        if (form) ({ body, frame } = await readMultipartBody(ctx.blobs, request))
        const idempotency_key = readIdempotencyKey(request.headers['idempotency-key'])
        const sent = { request_id: request.id, idempotency_key, body, has_count: false, frame }
        const { videos, replayed } = await whileConnected(request.raw, (signal) =>
          submitVideos(ctx, gates, principal, { ...sent, signal }),
        )
        const [video] = videos
        request.created = { video_id: video!.id }
        if (replayed) reply.header('idempotent-replayed', 'true')
        return video
      } finally {
        if (frame) await ctx.blobs.discard(frame.staged)
        form?.end()
      }
    },
  })
}

type VideoRoutes = {
  /** Polled jobs come from it. */
  cache: JobCache
  gates: Gates
  variants: Variants
}

export function videoRoutes({ cache, gates, variants }: VideoRoutes): readonly Route[] {
  const find = async (ctx: Context, org_id: string, id: string) => {
    const job = await cache.read(ctx, org_id, requireVideoId(id))
    if (!job) throw notFound('video')
    return job
  }
  const readVideo = route({
    ...common,
    method: 'GET',
    path: '/v1/videos/:video_id',
    summary: 'Read a job',
    description: 'Its status, progress and cost. `openai-poll-after-ms` says how long to wait before the next poll.',
    response: VideoView,
    conditional: true,
    headers: { 'openai-poll-after-ms': 'sometimes' },
    // POST to `/v1/videos/edits` and the like are calls this API does not offer, not wrong methods.
    wrong_method: (method, { video_id }) =>
      method !== 'POST' || isId('video', video_id!) ? null : unknownUrl(video_id!),
    async handle(ctx, { principal, params, request, reply }) {
      const job = await find(ctx, principal.org_id, params.video_id!)
      if (!isTerminal(job.status)) reply.header('openai-poll-after-ms', POLL_AFTER_MS)
      return sendPolled(request, reply, job)
    },
  })
  const readContent = route({
    ...common,
    method: 'GET',
    path: '/v1/videos/:video_id/content',
    summary: 'Download the MP4 of a completed job, its thumbnail or its spritesheet; byte ranges work',
    description: '`variant` chooses which. Before the job is completed this is 400.',
    query: ContentQuery,
    query_check: 'handler',
    response_type: FORMS.video.media_type,
    other_response_types: [FORMS.thumbnail.media_type, FORMS.spritesheet.media_type],
    async handle(ctx, { principal, params, query, request, reply }) {
      const job = await find(ctx, principal.org_id, params.video_id!)
      const variant = readVariant(query.variant)
      return sendContent(ctx, variants, { job, variant }, { request, reply })
    },
  })
  return [
    createVideo(gates),
    listVideos,
    ...videoModelRoutes,
    ...labelRoutes,
    readArchive,
    readTerms,
    agreeToTerms,
    readVideo,
    readContent,
    cancelVideo,
    deleteVideo,
    ...sharingRoutes(variants),
  ]
}

/** A malformed id is answered like an unknown one, unless it is the name of a call that is not offered. */
function requireVideoId(id: string): string {
  if (isId('video', id)) return id
  throw explainNotOffered(`/v1/videos/${id}`) === undefined ? notFound('video') : unknownUrl(id)
}

function unknownUrl(id: string): ApiError {
  const why = explainNotOffered(`/v1/videos/${id}`)
  return new ApiError('unknown_url', `Unknown request URL. ${why ?? 'See /docs for the routes.'}`)
}

/** Video routes of the OpenAI API that are not offered here. Source: contract 5. */
const NOT_OFFERED = /^\/v1\/videos\/(?:(edits|extensions|characters)(?:\/[^/]*)?|[^/]+\/(remix))\/?$/

/** The message of the 404 for an OpenAI route that is not offered; undefined for any other path. */
export function explainNotOffered(path: string): string | undefined {
  const [, one, other] = NOT_OFFERED.exec(path) ?? []
  const call = one ?? other
  return (
    call && `'${call}' of the OpenAI videos API is not offered here: submit a new job with POST /v1/videos instead.`
  )
}

/**
 * Permanently deletes a job that has ended, with its video, thumbnail and spritesheet. Ledger entries, events and the moderation record stay;
 * uploaded files are left alone. The log of activity has its model, length, time and person, never the prompt.
 * Throws ApiError `not_found`, `permission_denied` as `requireMayDelete` does, or `conflict` while the job is running or under review.
 */
async function removeJob(
  ctx: Pick<Context, 'db' | 'clock' | 'config' | 'blobs' | 'changes'>,
  principal: Principal,
  id: string,
): Promise<void> {
  const { org_id } = principal
  const deleted = await ctx.db.transaction().execute(async (tx) => {
    const job = await findJob(tx, org_id, id)
    if (!job) return null
    const { user_id } = job
    await requireMayDelete(tx, principal, user_id)
    const ended = await deleteEndedJob(tx, org_id, id)
    if (ended === null || ended === 'running') return ended
    await deleteReleasedHolds(tx, [id])
    const name = describeJob(ctx.config.video_models, job)
    await recordDeletion(tx, principal, { action: 'video.delete', id, name, user_id, now: ctx.clock.now() })
    return ended
  })
  if (deleted === null) throw notFound('video')
  if (deleted === 'running') {
    throw new ApiError(
      'conflict',
      'A job that is running or under review cannot be deleted. Cancel it first, or wait for it to end.',
    )
  }
  ctx.changes.announce(VIDEO_TOPIC, id)
  ctx.changes.announce(DELETED_TOPIC, `${org_id}/${id}`)
  await removeUnneeded(ctx.blobs, deleted.blob_keys)
}
