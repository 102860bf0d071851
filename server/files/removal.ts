import type { Blobs } from '../platform/blobs/blobs.ts'
import { areBlobsFree } from '../platform/db/copy/backup-lock.ts'
import type { Db } from '../platform/db/db.ts'

/**
 * The same blobs, but nothing is removed while a backup is being taken: a row of its snapshot may name it. `remove` returns false then, as
 * it does when the database does not answer, and the sweep of blobs without a row removes the bytes a day later.
 */
export function keepDuringBackup(blobs: Blobs, db: Db): Blobs {
  return {
    ...blobs,
    async remove(key) {
      return (await areBlobsFree(db).catch(() => false)) && blobs.remove(key)
    },
  }
}
