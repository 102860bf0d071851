import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { writeManifest } from '../../server/cli/admin/backup/manifest.ts'
import { restoreBackup, verifyBackup } from '../../server/cli/admin/backup/restore.ts'
import { takeBackup } from '../../server/cli/admin/backup/take.ts'
import type { Serving } from '../../server/cli/serve.ts'
import { copyBlobs } from '../../server/platform/blobs/copy.ts'
import { diskBlobs } from '../../server/platform/blobs/disk.ts'
import { s3Blobs } from '../../server/platform/blobs/s3/s3.ts'
import { holdBlobs } from '../../server/platform/db/copy/backup-lock.ts'
import { testBucket } from '../support/bucket/bucket.ts'
import { damageObject } from '../support/bucket/storage.ts'
import { runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase, type TestDir } from '../support/data/data-dir.ts'
import { tempDir } from '../support/service.ts'
import { startFaultyS3 } from '../support/upstream/s3-faults.ts'

const temp = tempDir()
const at = (name: string) => join(temp.path, name)
let dir: TestDir
let database: Awaited<ReturnType<typeof emptyDatabase>>
let serving: Serving
let key: string
before(async () => {
  dir = dataDir()
  database = await emptyDatabase()
  serving = await dir.serve({ DATABASE_URL: database.url })
  key = serving.first_run!.api_key
})
after(async () => {
  await dir.remove()
  await database.drop()
  temp.remove()
})

async function call(method: string, path: string, body: FormData | string | null = null, url = serving.url) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(typeof body === 'string' && { 'content-type': 'application/json' }),
  }
  const response = await fetch(url + path, { method, headers, body })
  return { status: response.status, text: await response.text() }
}

async function upload(text: string): Promise<string> {
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('file', new Blob([text]), 'note.txt')
  return JSON.parse((await call('POST', '/v1/files', body)).text).id
}

/** Keys of the blobs that uploads name; the bytes of a deleted one may still be there. */
async function namedBlobs(): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ blob_key: string }>('select blob_key from files order by id')
  await client.end()
  return rows.map(({ blob_key }) => blob_key)
}

/** Everything in the tables, in one order, but what a copy makes for itself or a service changes by running. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const own = [
    'schema_migrations',
    'installation',
    'nodes',
    'workers',
    'sweeps',
    'activity_entries',
    'rate_limits',
    'audit_state',
  ]
  const { rows } = await client.query("select tablename as name from pg_tables where schemaname = 'public' order by 1")
  const content: Record<string, string> = {}
  for (const { name } of rows.filter((each) => !own.includes(each.name))) {
    const found = await client.query(
      `select coalesce(string_agg(row, E'\\n' order by row), '') as all from (select (to_jsonb(t) - 'last_used_at')::text as row from ${name} t) r`,
    )
    content[name] = found.rows[0].all
  }
  await client.end()
  return content
}

const options = (out: string, blobs = diskBlobs(join(dir.path, 'blobs'))) => ({
  ...{
    url: database.url,
    blobs,
    storage_name: 'the disk',
    out,
    data_dir: dir.path,
    kinora: '0.0.0',
    incomplete: false,
  },
})
const into = (name: string, from: string) => ({
  from,
  data_dir: at(name),
  database_url: null,
  adopt: false,
  storage: { kind: 'disk' as const, also_read: null },
})

test('a backup taken while the service serves is restored at other paths, row for row, and starts only once it is adopted', async () => {
  const id = await upload('a note, 猫')
  const input = 'Back\\slash, tab\t, "quotes", line\nbreak and \\N'
  assert.equal((await call('POST', '/v1/responses', JSON.stringify({ model: 'sandbox-1', input }))).status, 200)
  const args = ['admin', 'backup', '--out', at('backups'), '--data-dir', dir.path, '--json']
  const taken = await runKinora(args, { env: { DATABASE_URL: database.url } })
  assert.equal(taken.code, 0, taken.stderr)
  const { backup, files, missing } = JSON.parse(taken.stdout)
  assert.deepEqual([files, missing], [1, 0])
  assert.match(backup, /kinora-backup-\d{8}T\d{6}Z$/)
  for (const name of readdirSync(backup, { recursive: true, withFileTypes: true }))
    assert.equal(statSync(join(name.parentPath, name.name)).mode & 0o077, 0, name.name)
  const before = await contentOf(database.url)

  const copy = dataDir()
  const restored = await runKinora(['admin', 'restore', '--from', backup, '--data-dir', copy.path, '--json'])
  assert.equal(restored.code, 0, restored.stderr)
  assert.equal(JSON.parse(restored.stdout).audit, 'clean')
  assert.deepEqual(readFileSync(join(copy.path, 'secret')), readFileSync(join(dir.path, 'secret')))
  await assert.rejects(copy.serve(), /copy restored from a backup.*original no longer runs.*database adopt/)
  assert.equal((await runKinora(['admin', 'database', 'adopt', '--data-dir', copy.path])).code, 0)
  const second = await copy.serve()
  const postgres = `postgres://kinora@localhost/kinora?host=${encodeURIComponent(join(copy.path, 'postgres', 'cluster'))}&port=5432`
  assert.deepEqual(await contentOf(postgres), before)
  assert.deepEqual(await call('GET', `/v1/files/${id}/content`, null, second.url), { status: 200, text: 'a note, 猫' })
  await copy.remove()
})

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
  await assert.rejects(holdBlobs(client, { wait_seconds: 0.1 }), /Another backup of this database is being taken/)
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
  const { code, stderr } = await runKinora(args, { env: { DATABASE_URL: database.url } })
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

test('a restore verifies every byte first, and changes nothing when one is wrong or the directory is not empty', async () => {
  await upload('verified')
  await takeBackup(options(at('good')))
  const blob = readdirSync(join(at('good'), 'blobs'), { recursive: true }).find((name) => `${name}`.length > 10)!
  for (const part of ['database/users.copy.gz', 'blobs.tsv', 'secret', 'manifest.json', join('blobs', `${blob}`)]) {
    cpSync(at('good'), at('bad'), { recursive: true })
    const bytes = readFileSync(join(at('bad'), part))
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(join(at('bad'), part), bytes)
    await assert.rejects(restoreBackup(into('untouched', at('bad'))), /damaged/, part)
    rmSync(join(at('bad'), part))
    await assert.rejects(restoreBackup(into('untouched', at('bad'))), /damaged|ENOENT|not a whole backup/, part)
    rmSync(at('bad'), { recursive: true })
  }
  const newer = JSON.parse(readFileSync(join(at('good'), 'manifest.json'), 'utf8'))
  delete newer.sha256
  newer.migrations.push({ number: 9999, name: '9999-later', sha256: '' })
  cpSync(at('good'), at('newer'), { recursive: true })
  await writeManifest(at('newer'), newer)
  await assert.rejects(restoreBackup(into('untouched', at('newer'))), /newer than this version.*9999-later/)
  await assert.rejects(
    verifyBackup(at('newer')),
    /newer than this version/,
    'what --check calls intact can be restored',
  )
  assert.equal(existsSync(at('untouched')), false)
  await assert.rejects(restoreBackup({ ...into('', at('good')), data_dir: dir.path }), /is not empty/)
  const external = { ...into('beside', at('good')), database_url: database.url }
  await assert.rejects(restoreBackup(external), /A service runs on the database .*Stop every node/)
  assert.deepEqual(readdirSync(at('beside')), [])
})

test('the previous secrets of a data directory are in its backup, since second factors and webhooks may still need them', async () => {
  writeFileSync(join(dir.path, 'secret.previous'), `${'p'.repeat(40)}\n`, { mode: 0o600 })
  await takeBackup(options(at('rotated')))
  rmSync(join(dir.path, 'secret.previous'))
  await restoreBackup(into('of rotated', at('rotated')))
  assert.equal(readFileSync(join(at('of rotated'), 'secret.previous'), 'utf8'), `${'p'.repeat(40)}\n`)
  assert.equal(statSync(join(at('of rotated'), 'secret.previous')).mode & 0o077, 0)
})

test('a backup of the first format, without a digest of the manifest, is restored', async () => {
  await takeBackup(options(at('first')))
  const { sha256: _, ...manifest } = JSON.parse(readFileSync(join(at('first'), 'manifest.json'), 'utf8'))
  writeFileSync(join(at('first'), 'manifest.json'), JSON.stringify({ ...manifest, format: 1 }))
  assert.equal((await verifyBackup(at('first'))).format, 1)
  writeFileSync(join(at('first'), 'manifest.json'), JSON.stringify(manifest))
  await assert.rejects(verifyBackup(at('first')), /manifest\.json is not as it was written/)
})

/** A copy of a backup that is intact, but announces a row of `users` too many. */
async function backupWithoutARow(name: string): Promise<string> {
  await takeBackup(options(at(name)))
  const manifest = JSON.parse(readFileSync(join(at(name), 'manifest.json'), 'utf8'))
  delete manifest.sha256
  manifest.tables.find(({ table }: { table: string }) => table === 'users').rows += 1
  await writeManifest(at(name), manifest)
  return at(name)
}

test('a restore that fails empties its directory but for lost+found, and rejects with what failed', async () => {
  const kept = join(at('of a disk'), 'lost+found', '#12')
  mkdirSync(dirname(kept), { recursive: true })
  writeFileSync(kept, '')
  const failing = into('of a disk', await backupWithoutARow('short of a row'))
  await assert.rejects(restoreBackup(failing), /Of \d+ rows of users \d+ arrived/)
  assert.deepEqual(readdirSync(at('of a disk')), ['lost+found'])
  assert.ok(existsSync(kept))
})

test('a restore that fails names what it leaves in an external database and in a bucket', async () => {
  await upload('for the bucket')
  const from = await backupWithoutARow('short of one more')
  const other = await emptyDatabase()
  const left: string[] = []
  const external = { ...into('left', from), database_url: other.url, on_left: (note: string) => left.push(note) }
  await assert.rejects(restoreBackup(external), /arrived/)
  assert.match(left.join('\n'), /^The database \S+ has tables of this restore: .*drop schema public cascade/)
  await assert.rejects(restoreBackup({ ...external, database_url: database.url }), /A service runs on/)
  assert.equal(left.length, 1, 'nothing was written')

  const bucket = await testBucket({ prefix: 'copy/' })
  const faulty = await startFaultyS3(bucket.endpoint!)
  let uploads = 0
  faulty.state.fault = ({ method }) =>
    method === 'PUT' && ++uploads > 1 ? { kind: 'status', status: 403, code: 'AccessDenied' } : null
  const storage = { ...bucket, endpoint: faulty.endpoint, also_read: null }
  await takeBackup(options(at('for a bucket')))
  const failing = { ...into('left', at('for a bucket')), storage, on_left: (note: string) => left.push(note) }
  await assert.rejects(restoreBackup(failing), { name: 'BlobsAway' })
  faulty.close()
  assert.match(left[1]!, new RegExp(`^s3://${bucket.bucket}/copy/ has files of this restore: .*copy/blobs/`))
  assert.deepEqual([left.length, readdirSync(at('left'))], [2, []])

  const client = new pg.Client({ connectionString: other.url })
  await client.connect()
  await client.query(/'(drop schema .*)'/.exec(left[0]!)![1]!)
  await client.end()
  await restoreBackup({ ...external, from: at('for a bucket') })
  await other.drop()
})

test('no service starts on a directory whose restore was killed', async () => {
  await takeBackup(options(at('whole')))
  const args = ['admin', 'restore', '--from', at('whole'), '--data-dir', at('half')]
  const other = await emptyDatabase()
  const env = { DATABASE_URL: other.url, KINORA_FAILPOINT: 'restore_rows_loaded' }
  assert.equal((await runKinora(args, { env })).code, null)
  const { code, stderr } = await runKinora(['migrate', '--data-dir', at('half')])
  assert.equal(code, 1)
  assert.match(stderr, /only partly restored from a backup. Empty it/)
  await other.drop()
})
