import { sql } from 'kysely'
import type { Invariant } from '../platform/db/invariant.ts'

/** What is always true of uploads. */
export const fileInvariants: readonly Invariant[] = [
  {
    invariant: 'I17',
    title: 'no upload is kept an hour past its time',
    broken: (now) => sql`select id from files where expires_at < ${now}::timestamptz - interval '1 hour'`,
  },
  {
    invariant: 'I33',
    title: 'what is counted for the files of an organization is what they have',
    broken: () => sql`
      select org_id from (
        select org_id collate "C" as org_id, file_bytes(size_bytes, engine_copy) as bytes from files
        union all select org_id, - bytes from stored_bytes where kind = 'files') as each
      group by org_id having sum(bytes) <> 0`,
  },
]
