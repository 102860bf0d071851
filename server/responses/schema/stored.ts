import Type, { type Static } from 'typebox'
import { listQuery, listSchema } from '../../platform/http/list.ts'
import { Item } from './items.ts'
import { INCLUDES } from './response.ts'

const include = {
  include: Type.Optional(
    Type.Array(Type.Enum([...INCLUDES]), {
      description: 'Values as on create. What was stored is returned in any case.',
    }),
  ),
}

export const StoredQuery = Type.Object({
  ...include,
  stream: Type.Optional(Type.Boolean({ description: 'Streams the response as events.' })),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: 'Only events after this `sequence_number`.' }),
  ),
})
export type StoredQuery = Static<typeof StoredQuery>

export const INPUT_PAGE = { default: 20, max: 100 }
export const InputQuery = Type.Object({ ...listQuery(INPUT_PAGE), ...include })
export const InputList = listSchema(Item)

export const DeletedResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  deleted: Type.Literal(true),
})
