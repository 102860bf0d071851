import { type Static, type TSchema, Type } from 'typebox'
import { ApiError } from '../errors.ts'
import { type IdKind, isId } from '../ids.ts'

export type Order = 'asc' | 'desc'

/** Where a page begins and how long it is. Elements come strictly after `after` in the chosen order. */
export type Position = { limit: number; after: string | null; order: Order }

/** The wire form of a list. Source: docs/api/README.md, lists. */
export type Page<View> = {
  object: 'list'
  data: View[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

/** Members of the query of every list; spread them into the route's schema. A `limit` out of range is refused, never clamped. */
export function listQuery(options: { default: number; max: number }) {
  const { max } = options
  return {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: max, default: options.default, description: `1 to ${max} elements.` }),
    ),
    after: Type.Optional(Type.String({ description: 'Id of the last element of the page before.' })),
    order: Type.Optional(
      Type.Union([Type.Literal('desc'), Type.Literal('asc')], {
        default: 'desc',
        description: 'Newest first, or oldest.',
      }),
    ),
  }
}

type ListQuery = { [Name in keyof ReturnType<typeof listQuery>]?: Static<ReturnType<typeof listQuery>[Name]> }

/**
 * The position a checked query asks for. A well-formed id that is gone, or another organization's, is still a place in time.
 * Throws ApiError `invalid_value` for a malformed `after`.
 */
export function positionOf(kind: IdKind, query: ListQuery, options: { default: number }): Position {
  const after = query.after ?? null
  if (after !== null && !isId(kind, after)) {
    throw new ApiError(
      'invalid_value',
      `Invalid 'after': not the id of a ${kind}. Send the last id of the page before.`,
      {
        param: 'after',
      },
    )
  }
  return { limit: query.limit ?? options.default, after, order: query.order ?? 'desc' }
}

/** How SQL reads a position: `where id <comparison> after order by id <order>`, bytewise (`collate "C"`), `limit + 1` rows. */
export function comparisonOf(order: Order): '<' | '>' {
  return order === 'asc' ? '>' : '<'
}

/** The page of `rows`. The store fetches one row more than `limit`, so that it is known whether another page follows. */
export function pageOf<Row extends { id: string }, View>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => View,
): Page<View> {
  const shown = rows.slice(0, limit)
  return {
    object: 'list',
    data: shown.map(view),
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: rows.length > limit,
  }
}

/** Shape of a list answer, for the API page. */
export function listSchema<Element extends TSchema>(element: Element) {
  const id = Type.Union([Type.String(), Type.Null()])
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(element),
    first_id: id,
    last_id: id,
    has_more: Type.Boolean(),
  })
}
