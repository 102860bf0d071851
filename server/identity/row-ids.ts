import { ApiError } from '../platform/errors.ts'
import type { Order, Position } from '../platform/http/list.ts'
import { newId } from '../platform/ids.ts'

/** Prefixes of rows that no API names by kind. `user`, `org` and `key` ids come from `platform/ids.ts`. */
const PREFIXES = {
  member: 'mem',
  login: 'login',
  session: 'ses',
  verification: 'ver',
  invitation: 'inv',
  two_factor: 'tfa',
} as const
export type RowKind = keyof typeof PREFIXES

/** A new id: prefix and ULID, sortable by time. */
export function newRowId(kind: RowKind, now: Date): string {
  return `${PREFIXES[kind]}_${newId('user', now).slice('user_'.length)}`
}

/** True for the form `newRowId` gives. */
function isRowId(kind: RowKind, id: string): boolean {
  const prefix = `${PREFIXES[kind]}_`
  return id.startsWith(prefix) && ULID.test(id.slice(prefix.length))
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/** As `positionOf`, for ids that no other API names. Throws ApiError `invalid_value` for a malformed `after`. */
export function rowPosition(
  kind: RowKind,
  query: { limit?: number; after?: string; order?: Order },
  page: { default: number },
): Position {
  const { after = null, limit = page.default, order = 'desc' } = query
  if (after === null || isRowId(kind, after)) return { after, limit, order }
  throw new ApiError('invalid_value', `Invalid 'after': not the id of a ${kind}.`, { param: 'after' })
}
