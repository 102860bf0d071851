import Type, { type Static } from 'typebox'
import { listSchema } from '../../platform/http/list.ts'

/** As long as jobs are kept: a link ends with its clip. */
const SHARE_DAYS_MAX = 30

export const CreateShareLink = Type.Object(
  {
    expires_in_days: Type.Integer({
      minimum: 1,
      maximum: SHARE_DAYS_MAX,
      description: 'At most what the operator allows; the link ends earlier when the clip is deleted.',
    }),
    download: Type.Optional(
      Type.Boolean({ description: 'Whether the page offers to download the clip. Default false.' }),
    ),
  },
  { additionalProperties: false },
)

const shown = {
  id: Type.String(),
  object: Type.Literal('share_link'),
  video_id: Type.String(),
  hint: Type.String({ description: 'The last four characters of its address.' }),
  download: Type.Boolean(),
  created_at: Type.Integer(),
  expires_at: Type.Integer(),
}
export const ShareLinkView = Type.Object(shown)
export type ShareLinkView = Static<typeof ShareLinkView>
export const CreatedShareLink = Type.Object({
  ...shown,
  url: Type.String({ description: 'Its address. Shown only once.' }),
})
export type CreatedShareLink = Static<typeof CreatedShareLink>
export const ShareLinkList = listSchema(ShareLinkView)
export type ShareLinkList = Static<typeof ShareLinkList>
export const DeletedShareLink = Type.Object({
  id: Type.String(),
  object: Type.Literal('share_link'),
  deleted: Type.Literal(true),
})
