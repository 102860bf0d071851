import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from '../../server/cli/database.ts'
import type { Config } from '../../server/config/config.ts'
import { openDataDir } from '../../server/platform/data-dir.ts'
import { silentLog } from '../../server/platform/log.ts'
import { prepareDatabase } from '../support/data/prepared.ts'
import { startService, tempDir } from '../support/service.ts'

test('a second service on a data directory is refused with the first one named, before it touches anything', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  const before = snapshot(dir.path)
  await assert.rejects(
    startService({ dir: dir.path }),
    new RegExp(`in use by another service \\(process ${first.process.pid}\\)`),
  )
  assert.deepEqual(snapshot(dir.path), before)
  await first.stop()
})

test('a second service is refused as well when the lock was deleted under the first, and changes nothing; after the first it may start', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  writeFileSync(join(dir.path, 'work', 'of a render'), '')
  rmSync(join(dir.path, 'service.lock'))
  const before = snapshot(dir.path)
  for (let times = 0; times < 2; times++) {
    await assert.rejects(
      startService({ dir: dir.path }),
      new RegExp(`StartError.*service\\.lock.*process ${first.process.pid}`, 's'),
    )
    assert.deepEqual(snapshot(dir.path), before)
  }
  assert.deepEqual(readdirSync(join(dir.path, 'work')), ['of a render'])
  await first.stop()
  const second = await startService({ dir: dir.path })
  await second.stop()
})

test('kill -9 frees the lock at once', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  await prepareDatabase(join(dir.path, 'postgres'))
  const first = await startService({ dir: dir.path })
  await first.kill()
  const second = await startService({ dir: dir.path })
  await second.stop()
})

test('a directory of somebody else with a `work` in it is refused, and nothing in it is touched; other files are no obstacle', (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const [work, thesis] = [join(dir.path, 'work'), join(dir.path, 'work', 'thesis.txt')]
  writeFileSync(join(dir.path, 'kinora.yaml'), '')
  mkdirSync(work)
  writeFileSync(thesis, 'of years')
  assert.throws(() => openDataDir(dir.path), /StartError: .*has a directory work that Kinora did not make/)
  assert.deepEqual([readdirSync(dir.path).sort(), readdirSync(work)], [['kinora.yaml', 'work'], ['thesis.txt']])
  rmSync(thesis)
  openDataDir(dir.path).release()
})

test('a released directory can be opened again by the same process; a held one cannot', (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const held = openDataDir(dir.path)
  assert.throws(() => openDataDir(dir.path), /in use by another service/)
  held.release()
  assert.ok(!existsSync(join(dir.path, 'service.pid')), 'nobody is to signal a process that may be another by now')
  openDataDir(dir.path).release()
})

test('a directory whose database cannot be started is released', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  mkdirSync(join(dir.path, 'postgres', 'cluster'), { recursive: true })
  writeFileSync(join(dir.path, 'postgres', 'cluster', 'PG_VERSION'), '9\n')
  const config = { data_dir: dir.path, database_url: null } as Config
  await assert.rejects(openDatabase(config, silentLog), /was made by PostgreSQL 9/)
  openDataDir(dir.path).release()
})

test('a directory of a newer format, or partly restored, is refused in words, and nothing in it is changed', (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  openDataDir(dir.path).release()
  const refused = (file: string, text: string, why: RegExp) => {
    writeFileSync(join(dir.path, file), text)
    const before = snapshot(dir.path)
    assert.throws(() => openDataDir(dir.path), { name: 'StartError', message: why })
    assert.deepEqual(snapshot(dir.path), before)
  }
  refused('version', '2\n', /has format 2 and was made by a newer version of Kinora; this one knows format 1/)
  refused('version', 'one\n', /does not hold the format of the data directory/)
  rmSync(join(dir.path, 'version'))
  openDataDir(dir.path).release()
  refused('restoring', '', /only partly restored from a backup. Empty it and run 'kinora admin restore' again/)
})

test('scratch is empty at every start, whatever an earlier service left there', (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const first = openDataDir(dir.path)
  writeFileSync(join(first.work, 'media-1-abcdef'), 'left over')
  first.release()
  const second = openDataDir(dir.path)
  assert.deepEqual(readdirSync(second.work), [])
  second.release()
})

test('the files and directories it creates are private', (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'kinora-test-'))
  t.after(() => rmSync(parent, { recursive: true }))
  const dir = openDataDir(join(parent, 'a/b'))
  for (const path of [dir.path, dir.postgres, dir.blobs, dir.work]) assert.equal(statSync(path).mode & 0o777, 0o700)
  dir.release()
})

test('a path that is a file is refused with an explanation', (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  writeFileSync(join(dir.path, 'file'), '')
  assert.throws(() => openDataDir(join(dir.path, 'file')), { name: 'StartError', message: /cannot be made/ })
})

/** Every entry with the time it last changed. */
function snapshot(path: string): string[] {
  const names = ['.', ...readdirSync(path), ...readdirSync(join(path, 'postgres')).map((each) => `postgres/${each}`)]
  return names.map((name) => `${name} ${statSync(join(path, name)).mtimeMs}`)
}
