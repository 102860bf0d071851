import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../platform/schema/explain.ts'

export const LABELS_MAX = { ids: 100, ids_read: 200, tags: 20, tags_listed: 500 }

const Tag = Type.String({ minLength: 1, maxLength: 50, pattern: NOT_BLANK })
const Tags = (description: string) => Type.Optional(Type.Array(Tag, { maxItems: LABELS_MAX.tags, description }))

export const ChangeLabels = Type.Object(
  {
    ids: Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: LABELS_MAX.ids,
      description: 'Of the videos that are changed.',
    }),
    name: Type.Optional(Type.String({ maxLength: 200, description: 'Empty for none.' })),
    tags: Tags('In place of those there are; case makes no difference between two.'),
    add_tags: Tags('Besides those there are: a video has 20 at most.'),
    favorite: Type.Optional(Type.Boolean({ description: 'Whether they are favorites of yours.' })),
  },
  { additionalProperties: false },
)
export type ChangeLabels = Static<typeof ChangeLabels>

export const LabelsQuery = Type.Object({
  ids: Type.String({ minLength: 1, maxLength: 8192, description: 'Ids of videos, with commas between, at most 200.' }),
})

const Labels = Type.Object({
  id: Type.String({ description: 'Of the video.' }),
  object: Type.Literal('video_labels'),
  name: Type.Union([Type.String(), Type.Null()]),
  tags: Type.Array(Type.String()),
  favorite: Type.Boolean({ description: 'Of the person who asks.' }),
})
export type Labels = Static<typeof Labels>
export const LabelsList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Labels) })
export type LabelsList = Static<typeof LabelsList>

const ListedTag = Type.Object({
  id: Type.String({ description: 'The tag itself.' }),
  object: Type.Literal('video_tag'),
})
export const TagList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ListedTag) })
export type TagList = Static<typeof TagList>
