import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { writeManifest } from '../../server/cli/admin/backup/manifest.ts'
import { restoreBackup, verifyBackup } from '../../server/cli/admin/backup/restore.ts'
import { takeBackup } from '../../server/cli/admin/backup/take.ts'
import { testBucket } from '../support/bucket/bucket.ts'
import { runCommand, runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { startFaultyS3 } from '../support/upstream/s3-faults.ts'
import { backupSite } from './backup-site.ts'

const { at, dir, database, call, upload, options, into, close } = await backupSite()
after(close)

/** Everything in the tables, in one order, but what a copy makes for itself or a service changes by running. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const own = [
    'schema_migrations',
    'installation',
    'nodes',
    'process_states',
    'workers',
    'sweeps',
    'activity_entries',
    'request_rates',
    'audit_state',
    'stored_bytes',
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
  assert.equal((await runCommand(['admin', 'database', 'adopt', '--data-dir', copy.path])).code, 0)
  const second = await copy.serve()
  const postgres = `postgres://kinora@localhost/kinora?host=${encodeURIComponent(join(copy.path, 'postgres', 'cluster'))}&port=5432`
  assert.deepEqual(await contentOf(postgres), before)
  assert.deepEqual(await call('GET', `/v1/files/${id}/content`, null, second.url), { status: 200, text: 'a note, 猫' })
  await copy.remove()
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
  const { sha256: _, ...manifest } = JSON.parse(readFileSync(join(at('good'), 'manifest.json'), 'utf8'))
  const of = (number: number, name: string) => ({ number, name, sha256: '' })
  for (const [migrations, message] of [
    [[...manifest.migrations, of(9999, '9999-later')], /The backup is newer than this version.*9999-later/],
    [[of(1, '0001-identity'), of(2, '0002-files')], /The backup was made by a build of Kinora before version 0\.1\.0/],
  ] as const) {
    cpSync(at('good'), at('other'), { recursive: true })
    await writeManifest(at('other'), { ...manifest, migrations })
    await assert.rejects(restoreBackup(into('untouched', at('other'))), message)
    await assert.rejects(verifyBackup(at('other')), message, 'what --check calls intact can be restored')
    rmSync(at('other'), { recursive: true })
  }
  writeFileSync(join(at('good'), 'manifest.json'), JSON.stringify(manifest))
  await assert.rejects(verifyBackup(at('good')), /manifest\.json is not as it was written/, 'without its digest')
  await writeManifest(at('good'), manifest)
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

test('an incident that lasted when the backup was taken ends with it in the copy: what came of it is not known there', async (t) => {
  const seen =
    "insert into process_states (node_id, pid, reported_at, away, state) values ('node_a', 1, now() + interval '1 hour', '{bucket}', '{}')"
  await database.pool.query(seen)
  const lost = `insert into incidents (id, subject, node_id, since, until, detail) values
    ('inc_lasting', 'bucket', 'node_a', now() - interval '1 hour', null, 'refused'),
    ('inc_ended', 'database', 'node_a', now() - interval '3 hours', now() - interval '2 hours', 'refused')`
  await database.pool.query(lost)
  const { taken_at } = await takeBackup(options(at('with incidents')))
  const external = await emptyDatabase()
  t.after(external.drop)
  await restoreBackup({ ...into('of incidents', at('with incidents')), database_url: external.url })
  const copy = new pg.Client({ connectionString: external.url })
  await copy.connect()
  const { rows } = await copy.query('select id, until from incidents order by since')
  await copy.end()
  const ended = await database.pool.query("select until from incidents where id = 'inc_ended'")
  assert.deepEqual(rows, [
    { id: 'inc_ended', until: ended.rows[0].until },
    { id: 'inc_lasting', until: new Date(taken_at) },
  ])
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
  const { code, stderr } = await runCommand(['migrate', '--data-dir', at('half')])
  assert.equal(code, 1)
  assert.match(stderr, /only partly restored from a backup. Empty it/)
  await other.drop()
})
