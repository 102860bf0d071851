import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import {
  adoptInstallation,
  isSameInstallation,
  pairInstallation,
  requireSameInstallation,
} from '../../server/files/installation.ts'
import { insertFile, knownFileBlobs } from '../../server/files/store/files.ts'
import { findInstallation, updateInstallation } from '../../server/files/store/installation.ts'
import { createOrganization } from '../../server/identity/people/provision.ts'
import type { Blobs } from '../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../server/platform/blobs/disk.ts'
import { newId } from '../../server/platform/ids.ts'
import { type TestDatabase, testDatabase } from '../support/data/postgres.ts'

let database: TestDatabase
let data_dir: string
let blobs: Blobs
before(async () => {
  database = await testDatabase()
})
beforeEach(async () => {
  await database.truncateAll()
  data_dir = mkdtempSync(join(tmpdir(), 'kinora-pair-'))
  blobs = diskBlobs(join(data_dir, 'blobs'))
})
after(() => database.close())

/** What `kinora serve` does before it touches rows or files. */
async function start(): Promise<string> {
  const { db } = database
  const known = [(keys: readonly string[]) => knownFileBlobs(db, keys)]
  await requireSameInstallation({ db, blobs, data_dir, known, database: 'The database' })
  const id = await pairInstallation({ db, blobs })
  assert.deepEqual(await blobs.mark(), { installation_id: id, paired: true })
  assert.deepEqual(await findInstallation(db), { id, moved_from: null, moved_to: null })
  assert.equal(await isSameInstallation(db, blobs), true)
  return id
}

async function refused(pattern: RegExp): Promise<void> {
  const state = async () => [await findInstallation(database.db), await blobs.mark()]
  const before = await state()
  await assert.rejects(start(), (error: Error) => error.name === 'StartError' && pattern.test(error.message))
  assert.deepEqual(await state(), before, 'a refused start changes nothing')
}

const used = () =>
  database.db.transaction().execute((tx) => createOrganization(tx, { name: 'Acme', plan: 'free', now: new Date() }))

async function storeBlob(): Promise<string> {
  async function* bytes() {
    yield randomBytes(10)
  }
  return (await blobs.write(bytes(), { max_bytes: 10 })).key
}

async function storeFile(): Promise<void> {
  const created_at = new Date()
  await insertFile(database.db, {
    id: newId('file'),
    org_id: 'org_a',
    user_id: 'user_a',
    purpose: 'user_data',
    filename: 'a.txt',
    media_type: 'text/plain',
    size_bytes: 10,
    sha256: '0'.repeat(64),
    blob_key: await storeBlob(),
    probe: null,
    created_at,
    expires_at: new Date(created_at.getTime() + 86_400_000),
  })
}

const mark = (installation_id: string, paired = true) => blobs.setMark({ installation_id, paired })
const row = (id: string, moved: { moved_from?: string; moved_to?: string } = {}) =>
  database.db
    .insertInto('installation')
    .values({ id, moved_from: null, moved_to: null, ...moved })
    .execute()

test('neither has an identity: an unused database and no files get one, and keep it', async () => {
  const id = await start()
  assert.match(id, /^inst_/)
  assert.equal(await start(), id)
  rmSync(data_dir, { recursive: true })
})

test('neither has an identity: a used database and no files, and none that a row names, are paired', async () => {
  await used()
  await start()
})

test('neither has an identity: a used database is paired with files that its rows name', async () => {
  await used()
  await storeFile()
  await storeBlob()
  await start()
})

test('neither has an identity: a used database is not paired with files none of which a row names', async () => {
  await used()
  await storeBlob()
  await refused(/belong to another database.*database adopt/)
})

test('neither has an identity: a used database whose rows name files is not paired with a directory that has none', async () => {
  await used()
  await storeFile()
  blobs = diskBlobs(join(data_dir, 'other'))
  await refused(/belong to another database.*database adopt/)
})

test('neither has an identity: an unused database is not paired with files', async () => {
  await storeBlob()
  await refused(/belong to another database.*database move/)
})

test('neither has an identity: an unused database is not paired with a directory that has seen a first run', async () => {
  writeFileSync(join(data_dir, 'first-run.json'), '{}')
  await refused(/another database.*new data directory/)
})

test('files that belong to a database are not paired with one without an identity, used or not', async () => {
  await mark('inst_a')
  await refused(/belong to another database.*database move/)
  await used()
  await refused(/belong to another database.*database adopt/)
})

test('a database that has files is not paired with an empty directory', async () => {
  await row('inst_a')
  await refused(/belongs to another data directory/)
  await storeBlob()
  await refused(/belongs to another data directory/)
})

test('a database and files with different identities are refused', async () => {
  await row('inst_a')
  await mark('inst_b')
  await refused(/belong to another database.*database adopt/)
})

test('a crash after the files were marked, or after the database was, is finished by the next start', async () => {
  await mark('inst_a', false)
  assert.equal(await start(), 'inst_a')
  await database.truncateAll()
  await row('inst_a')
  await mark('inst_a', false)
  assert.equal(await start(), 'inst_a')
})

test('of two services that start on one database with two directories, one succeeds', async () => {
  const other = diskBlobs(join(data_dir, 'other'))
  const both = await Promise.allSettled([blobs, other].map((each) => pairInstallation({ ...database, blobs: each })))
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

test('a moved database takes the files over at its first start, and the one it was moved from is refused afterwards', async () => {
  await row('inst_b', { moved_from: 'inst_a' })
  await mark('inst_a')
  assert.equal(await start(), 'inst_b')
  await updateInstallation(database.db, { id: 'inst_a', moved_to: 'inst_b' })
  await refused(/was moved/)
})

test('a database that was moved and is started all the same keeps the files, and its copy is refused', async () => {
  await row('inst_a', { moved_to: 'inst_b' })
  await mark('inst_a')
  const id = await start()
  assert.ok(id !== 'inst_a' && id !== 'inst_b')
  await updateInstallation(database.db, { id: 'inst_b', moved_from: 'inst_a' })
  await refused(/belong to another database/)
})

test('an operator can declare that a database and files belong together', async () => {
  await row('inst_a')
  await mark('inst_b')
  const id = await adoptInstallation(database.db, blobs)
  assert.equal(await start(), id)
})

test('an unreadable mark is refused, not treated as missing', async () => {
  writeFileSync(join(data_dir, 'blobs', 'installation.json'), '')
  await assert.rejects(start(), /installation\.json cannot be read/)
})

test('two nodes that start at once on a new database and one bucket pair them once, and both start', async () => {
  const ids = await Promise.all([1, 2].map(() => pairInstallation({ db: database.db, blobs })))
  assert.equal(new Set(ids).size, 1)
  assert.equal(await start(), ids[0])
})
