import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of uploads. */
export const fileInvariants: readonly Invariant[] = [
  {
    invariant: 'I17',
    title: 'no upload is kept an hour past its time',
    broken: (now) => sql`select id from files where expires_at < ${now}::timestamptz - interval '1 hour'`,
  },
]
