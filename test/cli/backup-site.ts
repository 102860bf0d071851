import { join } from 'node:path'
import type { RestoreOptions } from '../../server/cli/admin/backup/restore.ts'
import type { BackupOptions } from '../../server/cli/admin/backup/take.ts'
import { diskBlobs } from '../../server/platform/blobs/disk.ts'
import { dataDir } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { tempDir } from '../support/service.ts'

/** A service on an external database that is backed up while it serves, and a directory for what is made of it. */
export async function backupSite() {
  const temp = tempDir()
  const at = (name: string) => join(temp.path, name)
  const dir = dataDir()
  const database = await testDatabase()
  const serving = await dir.serve({ DATABASE_URL: database.url })
  const key = serving.first_run!.api_key

  async function call(method: string, path: string, body: FormData | string | null = null, url = serving.url) {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    }
    const response = await fetch(url + path, { method, headers, body })
    return { status: response.status, text: await response.text() }
  }

  return {
    at,
    dir,
    database,
    call,
    /** Returns the id of the file. */
    async upload(text: string): Promise<string> {
      const body = new FormData()
      body.set('purpose', 'user_data')
      body.set('file', new Blob([text]), 'note.txt')
      return JSON.parse((await call('POST', '/v1/files', body)).text).id
    },
    /** For a backup to `out`. */
    options: (out: string, blobs = diskBlobs(join(dir.path, 'blobs'))): BackupOptions => ({
      url: database.url,
      blobs,
      storage_name: 'the disk',
      out,
      data_dir: dir.path,
      kinora: '0.0.0',
      incomplete: false,
    }),
    /** For a restore of the backup `from` into the directory `name`. */
    into: (name: string, from: string): RestoreOptions => ({
      from,
      data_dir: at(name),
      database_url: null,
      adopt: false,
      storage: { kind: 'disk', also_read: null },
    }),
    async close(): Promise<void> {
      await dir.remove()
      await database.close()
      temp.remove()
    },
  }
}
