import Type, { type Static } from 'typebox'
import { ASPECT_RATIOS } from '../engines/video/contract.ts'
import { addSeconds, unixSeconds } from '../platform/clock.ts'
import { listSchema } from '../platform/http/list.ts'
import { formatMoney } from '../platform/money.ts'
import { NOT_BLANK } from '../platform/schema/explain.ts'
import { FAILURES, type JobInput, STATUSES } from './job.ts'
import { JOB_RETENTION_SECONDS } from './retention.ts'
import type { ShownJob } from './store.ts'
import { VARIANTS } from './variants/variant.ts'

const Strict = { additionalProperties: false }
const FileId = Type.String({ minLength: 1, maxLength: 64 })
const FileReference = Type.Object({ file_id: FileId }, Strict)
const Frame = Type.Object({ file_id: FileId, role: Type.Enum(['first_frame', 'last_frame']) }, Strict)
const REFERENCES = {
  images: Type.Optional(Type.Array(FileReference, { maxItems: 8 })),
  videos: Type.Optional(Type.Array(FileReference, { maxItems: 2 })),
  audio: Type.Optional(Type.Array(FileReference, { maxItems: 3 })),
}

/** Body of `POST /v1/videos`. Any other member, at any depth, is refused: an ignored one could bill a render nobody asked for. */
export const CreateVideo = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 256, description: 'Id of a video model.' }),
    prompt: Type.String({
      minLength: 1,
      maxLength: 7000,
      pattern: NOT_BLANK,
      description: '1 to 7000 code points, not blank. Dialogue stands in <d>…</d>.',
    }),
    seconds: Type.Integer({ minimum: 4, maximum: 15 }),
    aspect_ratio: Type.Enum([...ASPECT_RATIOS]),
    image_reference: Type.Optional(
      Type.Array(Frame, {
        minItems: 1,
        maxItems: 2,
        description: 'First frame, last frame or both. Not together with references.',
      }),
    ),
    references: Type.Optional(Type.Object(REFERENCES, { ...Strict, description: 'At least one image or video.' })),
  },
  Strict,
)
export type CreateVideo = Static<typeof CreateVideo>

/** Body of `POST /console/videos/variations`: how many jobs to create of a request, and of what it was made. */
export const VariationsOf = Type.Object({
  count: Type.Integer({ minimum: 1, maximum: 4, description: 'How many jobs to create of this request.' }),
  made_from: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'Id of the video whose request, or last frame, this one was made from. Forgotten where the organization has no such video.',
    }),
  ),
})
export const CreateVariations = Type.Object(
  {
    ...VariationsOf.properties,
    ...CreateVideo.properties,
  },
  Strict,
)

const Timestamp = Type.Union([Type.Integer(), Type.Null()])

export const VideoView = Type.Object({
  id: Type.String(),
  object: Type.Literal('video'),
  model: Type.String(),
  prompt: Type.String(),
  seconds: Type.Integer(),
  status: Type.Enum([...STATUSES]),
  error: Type.Union([
    Type.Object({
      code: Type.Enum(Object.keys(FAILURES)),
      message: Type.String(),
      categories: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'With moderation_blocked: the categories of the deny list that the prompt is in, where they have names.',
        }),
      ),
    }),
    Type.Null(),
  ]),
  cost: Type.String({ description: 'Decimal string with 8 fraction digits, fixed at submission.' }),
  currency: Type.String(),
  created_at: Type.Integer(),
  completed_at: Timestamp,
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  aspect_ratio: Type.Enum([...ASPECT_RATIOS]),
  image_reference: Type.Union([Type.Array(Frame), Type.Null()], {
    description: 'As submitted; the files may be gone since. Null when there were none.',
  }),
  references: Type.Union([Type.Object(REFERENCES), Type.Null()], {
    description: 'As submitted, without empty lists; the files may be gone since. Null when there were none.',
  }),
  expires_at: Timestamp,
})
export type VideoView = Static<typeof VideoView>

export const Variations = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(VideoView, { description: 'In the order of their ids; they differ in nothing else.' }),
})

export const VideoList = listSchema(VideoView)

export const ContentQuery = Type.Object({
  variant: Type.Optional(Type.Enum([...VARIANTS], { description: 'Default video.' })),
})

const Count = Type.Integer({ minimum: 0 })

export const VideoModelView = Type.Object({
  id: Type.String(),
  object: Type.Literal('video_model'),
  name: Type.String(),
  description: Type.String(),
  pricing: Type.Array(
    Type.Object({ resolution: Type.Literal('768p'), per_second: Type.String(), currency: Type.String() }),
  ),
  inputs: Type.Array(
    Type.Enum(['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio']),
    {
      description: 'What a job may refer to.',
    },
  ),
  references_max: Type.Object(
    { images: Count, videos: Count, audio: Count, files: Count },
    { description: 'References of a job; files counts all together.' },
  ),
  seconds: Type.Object({ min: Type.Integer(), max: Type.Integer() }),
  aspect_ratios: Type.Array(Type.Enum([...ASPECT_RATIOS])),
  cancel: Type.Enum(['any', 'queued', 'none'], {
    description: 'Whether a render can be stopped: any, only until it begins, or not at all.',
  }),
})
export type VideoModelView = Static<typeof VideoModelView>
export const VideoModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(VideoModelView) })

export const AcceptTerms = Type.Object({ terms_version: Type.String({ minLength: 1, maxLength: 64 }) }, Strict)
export const AcceptanceView = Type.Object({
  object: Type.Literal('video_terms_acceptance'),
  terms_version: Type.String(),
  terms_url: Type.String(),
  accepted: Type.Boolean(),
  accepted_version: Type.Union([Type.String(), Type.Null()]),
  accepted_at: Timestamp,
  user_id: Type.String(),
  organization_id: Type.String(),
})

export const DeletedVideo = Type.Object({
  id: Type.String(),
  object: Type.Literal('video'),
  deleted: Type.Literal(true),
})

/** A file that a request names, and what it is for. */
export type SubmittedFile = Pick<JobInput, 'role' | 'file_id'>

/** The wire form of a job. The prompt is the one submitted, never its translation. */
export function videoView(job: Omit<ShownJob, 'inputs'> & { inputs: readonly SubmittedFile[] }): VideoView {
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    prompt: job.prompt,
    seconds: job.seconds,
    status: job.status,
    error: errorView(job),
    cost: formatMoney(job.cost),
    currency: job.currency,
    created_at: unixSeconds(job.created_at),
    completed_at: job.completed_at && unixSeconds(job.completed_at),
    progress: job.progress,
    aspect_ratio: job.aspect_ratio,
    ...filesView(job.inputs),
    expires_at: job.finished_at && unixSeconds(addSeconds(job.finished_at, JOB_RETENTION_SECONDS)),
  }
}

function errorView({ error_code: code, error_message, error_categories }: ErrorColumns): VideoView['error'] {
  if (code === null) return null
  return { code, message: error_message ?? '', ...(error_categories && { categories: error_categories }) }
}

type ErrorColumns = Pick<ShownJob, 'error_code' | 'error_message' | 'error_categories'>

/** As in the request: either frames or references. */
function filesView(inputs: readonly SubmittedFile[]): Pick<VideoView, 'image_reference' | 'references'> {
  if (inputs.length === 0) return { image_reference: null, references: null }
  const frames = inputs.flatMap(({ role, file_id }) =>
    role === 'first_frame' || role === 'last_frame' ? [{ file_id, role }] : [],
  )
  if (frames.length > 0) return { image_reference: frames, references: null }
  const lists = { images: 'reference_image', videos: 'reference_video', audio: 'reference_audio' } as const
  const references = Object.entries(lists).map(([name, wanted]) => {
    const files = inputs.filter(({ role }) => role === wanted)
    return [name, files.map(({ file_id }) => ({ file_id }))] as const
  })
  return { image_reference: null, references: Object.fromEntries(references.filter(([, files]) => files.length > 0)) }
}
