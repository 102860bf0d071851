import { newId } from '../platform/ids.ts'

/** Prefixes of rows that no API names by kind. `user`, `org` and `key` ids come from `platform/ids.ts`. */
const PREFIXES = { member: 'mem', login: 'login', session: 'ses', verification: 'ver', invitation: 'inv' } as const
export type RowKind = keyof typeof PREFIXES

/** A new id: prefix and ULID, sortable by time. */
export function newRowId(kind: RowKind, now: Date): string {
  return `${PREFIXES[kind]}_${newId('user', now).slice('user_'.length)}`
}

/** True for the form `newRowId` gives. */
export function isRowId(kind: RowKind, id: string): boolean {
  const prefix = `${PREFIXES[kind]}_`
  return id.startsWith(prefix) && ULID.test(id.slice(prefix.length))
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
