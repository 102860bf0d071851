import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { restoreBackup } from '../../server/cli/admin/backup/restore.ts'
import { takeBackup } from '../../server/cli/admin/backup/take.ts'
import { copyBlobs } from '../../server/platform/blobs/copy.ts'
import { diskBlobs } from '../../server/platform/blobs/disk.ts'
import { s3Blobs } from '../../server/platform/blobs/s3/s3.ts'
import { lockBlobs } from '../../server/platform/db/copy/backup-lock.ts'
import { testBucket } from '../support/bucket/bucket.ts'
import { damageObject } from '../support/bucket/storage.ts'
import { runCommand, runKinora } from '../support/command.ts'
import { backupSite } from './backup-site.ts'

const { at, dir, database, call, upload, options, into, close } = await backupSite()
after(close)

/** Keys of the blobs that uploads name; the bytes of a deleted one may still be there. */
async function namedBlobs(): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ blob_key: string }>('select blob_key from files order by id')
  await client.end()
  return rows.map(({ blob_key }) => blob_key)
}

test('a file that is deleted while the backup copies files is in the backup, and its bytes stay until that has ended', async () => {
  const [first, second] = [await upload('deleted meanwhile'), await upload('deleted afterwards')]
  const disk = diskBlobs(join(dir.path, 'blobs'))
  const count = dir.blobs().length
  let deleted: number | null = null
  const blobs = {
    ...disk,
    open: async (blob: string) => {
      if (deleted === null) {
        deleted = 0
        deleted = (await call('DELETE', `/v1/files/${first}`)).status
      }
      return disk.open(blob)
    },
  }
  const manifest = await takeBackup(options(at('meanwhile'), blobs))
  assert.equal(deleted, 200)
  assert.deepEqual([manifest.blobs.count, manifest.blobs.missing, dir.blobs().length], [count, [], count])
  assert.equal((await call('DELETE', `/v1/files/${second}`)).status, 200)
  assert.equal(dir.blobs().length, count - 1)
})

test('a second backup of one database is refused while one is being taken', async () => {
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('select pg_advisory_lock(7301950160)')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await assert.rejects(lockBlobs(client, { wait_seconds: 0.1 }), /Another backup of this database is being taken/)
  await Promise.all([holder.end(), client.end()])
})

test('a file that is missing or damaged fails the backup, or is left out and listed', async () => {
  await upload('kept')
  await upload('to be lost')
  const [lost, hurt] = await namedBlobs()
  const path = (blob: string) => join(dir.path, 'blobs', blob.slice(0, 2), blob)
  const [bytes, others] = [readFileSync(path(lost!)), readFileSync(path(hurt!))]
  rmSync(path(lost!))
  appendFileSync(path(hurt!), '!')
  await assert.rejects(takeBackup(options(at('holes'))), /2 of the files.*missing or damaged.*--incomplete/)
  assert.deepEqual([existsSync(at('holes')), existsSync(`${at('holes')}.partial`)], [false, false])
  const { blobs } = await takeBackup({ ...options(at('holes')), incomplete: true })
  assert.deepEqual(blobs.missing.toSorted(), [lost, hurt].toSorted())
  await restoreBackup(into('with holes', at('holes')))
  writeFileSync(path(lost!), bytes)
  writeFileSync(path(hurt!), others)
})

test('a file that is damaged in a bucket is named, or left out and listed as one that is missing', async () => {
  await upload('kept in the bucket')
  const bucket = await testBucket()
  const blobs = s3Blobs(bucket, { staging_dir: at('staging') })
  await copyBlobs(diskBlobs(join(dir.path, 'blobs')), blobs)
  const [hurt = ''] = await namedBlobs()
  await damageObject(bucket, hurt)
  await assert.rejects(takeBackup(options(at('hurt'), blobs)), new RegExp(`1 of the files.*${hurt}.*--incomplete`))
  const manifest = await takeBackup({ ...options(at('hurt'), blobs), incomplete: true })
  assert.deepEqual(manifest.blobs.missing, [hurt])
  assert.equal(existsSync(join(at('hurt'), 'blobs', hurt.slice(0, 2), hurt)), false)
})

test('a bucket that cannot be used fails the backup with one sentence that says why', async () => {
  await upload('somewhere else')
  const { endpoint, credentials } = await testBucket()
  const storage = { kind: 's3', endpoint, bucket: 'deleted', region: 'us-east-1', ...credentials }
  writeFileSync(at('kinora.yaml'), JSON.stringify({ storage }))
  const args = ['admin', 'backup', '--out', at('backups'), '--data-dir', dir.path, '--config', at('kinora.yaml')]
  const { code, stderr } = await runCommand(args, { DATABASE_URL: database.url })
  assert.equal(code, 1)
  assert.match(stderr, /^kinora admin backup: The bucket cannot be used \(GetObject: 404 NoSuchBucket\)\./)
  assert.doesNotMatch(stderr, /\n\s+at /)
})

test('a killed backup is no backup, and the next one takes its place', async () => {
  const args = ['admin', 'backup', '--out', at('killed'), '--data-dir', dir.path]
  const env = { DATABASE_URL: database.url, KINORA_FAILPOINT: 'backup_rows_copied' }
  assert.equal((await runKinora(args, { env })).code, null)
  const [partial = '', ...others] = readdirSync(at('killed'))
  assert.match(partial, /^kinora-backup-\w+\.partial$/)
  assert.deepEqual(others, [])
  const path = join(at('killed'), partial)
  await assert.rejects(restoreBackup(into('never', path)), /not a whole backup/)
  await takeBackup(options(path.replace('.partial', '')))
  assert.deepEqual(readdirSync(at('killed')), [partial.replace('.partial', '')])
})
