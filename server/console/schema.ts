import Type, { type Static } from 'typebox'
import { ASPECT_RATIOS } from '../engines/video/contract.ts'

/** What the console reads besides its session. Source: docs/api/console.md. */
export const SiteView = Type.Object({
  object: Type.Literal('console_site'),
  version: Type.String({ description: 'Of the service.' }),
  public_url: Type.String({ description: 'Where clients reach the API, without `/v1`.' }),
  currency: Type.String(),
  terms: Type.Object({ version: Type.String(), url: Type.String() }, { description: 'The video terms in force.' }),
  oidc: Type.Union([Type.Object({ name: Type.String() }), Type.Null()], {
    description: 'The identity provider people may sign in with.',
  }),
  two_factor: Type.Boolean({ description: 'People may protect their login with a second factor.' }),
  password: Type.Object({ min_length: Type.Integer(), max_length: Type.Integer() }),
  translates: Type.Boolean({ description: 'Japanese video prompts are translated; when false, their jobs fail.' }),
  prompt_help: Type.Boolean({ description: 'A chat model improves video prompts, for plans that include it.' }),
  sharing: Type.Union([Type.Object({ days_max: Type.Integer() }), Type.Null()], {
    description: 'Longest life of a share link; null where clips cannot be shared.',
  }),
})
export type SiteView = Static<typeof SiteView>

export const MakersQuery = Type.Object({
  ids: Type.String({
    minLength: 1,
    maxLength: 8192,
    description: 'Ids of videos and files, with commas between, at most 200.',
  }),
})
const Maker = Type.Object({
  id: Type.String({ description: 'Of the video or file.' }),
  object: Type.Literal('maker'),
  user_id: Type.String(),
  name: Type.Union([Type.String(), Type.Null()], { description: 'Null once the account has ended.' }),
})
export type Maker = Static<typeof Maker>
export const MakerList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Maker) })
export type MakerList = Static<typeof MakerList>

const VideoId = Type.Union([Type.String(), Type.Null()])
export const VideoOrigin = Type.Object({
  id: Type.String({ description: 'Of the video.' }),
  object: Type.Literal('video_origin'),
  made_from: { ...VideoId, description: 'Id of the video it was made from.' },
  followed_by: { ...VideoId, description: 'Id of the newest video made from it.' },
})
export type VideoOrigin = Static<typeof VideoOrigin>

const Submitter = Type.Object({
  id: Type.String({ description: 'Of the person.' }),
  object: Type.Literal('submitter'),
  name: Type.Union([Type.String(), Type.Null()], { description: 'Null once the account has ended.' }),
})
export type Submitter = Static<typeof Submitter>
export const SubmitterList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Submitter) })
export type SubmitterList = Static<typeof SubmitterList>

export const EstimateQuery = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 256, description: 'Id of a video model.' }),
  seconds: Type.Integer({ minimum: 4, maximum: 15 }),
  aspect_ratio: Type.Enum([...ASPECT_RATIOS]),
})
const Spread = Type.Union(
  [Type.Object({ typical: Type.Integer(), low: Type.Integer(), high: Type.Integer() }), Type.Null()],
  { description: 'Median, and what nine of ten exceed and stay below; null with fewer than five jobs that count.' },
)
export const EstimateView = Type.Object({
  object: Type.Literal('video_estimate'),
  model: Type.String(),
  seconds: Type.Integer(),
  aspect_ratio: Type.Enum([...ASPECT_RATIOS]),
  total_seconds: Spread,
  waiting_seconds: Spread,
})
export type EstimateView = Static<typeof EstimateView>

export const PromptHelpQuery = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 256, description: 'Id of a video model.' }),
})
export const PromptHelpView = Type.Object({
  object: Type.Literal('prompt_help'),
  model: Type.String(),
  chat_model: Type.Union([Type.String(), Type.Null()], {
    description: 'Null where there is none, or the plan does not include it.',
  }),
  instruction: Type.Union([Type.String(), Type.Null()]),
})
export type PromptHelpView = Static<typeof PromptHelpView>
