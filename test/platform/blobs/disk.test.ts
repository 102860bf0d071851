import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import { tempDir } from '../../support/service.ts'
import { ANY_SIZE, all, blobsContract } from './contract.ts'

blobsContract('disk', {
  store: async (t) => {
    const { blobs, root } = store(t)
    return { blobs, staging: join(root, 'staging') }
  },
  runs: 60,
})

test('a full disk is DiskFull, leaves nothing of the blob, and the rest readable', {
  skip: cannotMount(),
}, async (t) => {
  const dir = tempDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir.path])
  t.after(() => {
    execFileSync('umount', [dir.path])
    dir.remove()
  })
  const blobs = diskBlobs(dir.path)
  const { key } = await blobs.write(Readable.from([Buffer.alloc(300_000, 1)]), ANY_SIZE)
  const endless = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(65_536)))
  await assert.rejects(blobs.write(endless, ANY_SIZE), { name: 'DiskFull' })
  assert.deepEqual(readdirSync(join(dir.path, 'staging')), [])
  assert.equal((await buffer(await blobs.open(key))).length, 300_000)
})

test('files that are no blobs are neither listed nor swept', async (t) => {
  const { blobs, root } = store(t)
  const { key } = await blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE)
  const [dir, other] = [key.slice(0, 2), key.startsWith('00') ? '11' : '00']
  mkdirSync(join(root, other))
  mkdirSync(join(root, 'zz'))
  const strays = [
    `${dir}/.nfs0001`,
    `${dir}/${key}.bak`,
    `${other}/${key}`,
    `zz/${'zz'.repeat(16)}`,
    'staging/.nfs0002',
  ]
  for (const stray of strays) writeFileSync(join(root, stray), 'theirs')
  const older_than = new Date(Date.now() + 3_600_000)
  assert.deepEqual(await all(blobs.list({ older_than })), [{ key, size_bytes: 1 }])
  assert.equal(await blobs.sweepStaged({ older_than }), 0)
  for (const stray of strays) assert.ok(existsSync(join(root, stray)), stray)
})

test('a blob whose size cannot be read fails the listing; one that is removed meanwhile does not', async (t) => {
  const { blobs, root } = store(t)
  const keys: string[] = []
  for (const text of ['a', 'b']) keys.push((await blobs.write(Readable.from([text]), ANY_SIZE)).key)
  const loop = join(root, keys[0]!.slice(0, 2), keys[0]!)
  const list = () => all(blobs.list({ older_than: new Date(Date.now() + 3_600_000) }))
  rmSync(loop)
  symlinkSync('gone', loop)
  assert.deepEqual(
    (await list()).map(({ key }) => key),
    [keys[1]],
  )
  rmSync(loop)
  symlinkSync(loop, loop)
  await assert.rejects(list(), { code: 'ELOOP' })
})

test('files are private to the service', async (t) => {
  const { blobs, root } = store(t)
  const { key } = await blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE)
  assert.equal(statSync(join(root, key.slice(0, 2), key)).mode & 0o777, 0o600)
})

test('readers that never read keep a buffer each, few of them a large one; when they leave, others get theirs', async (t) => {
  const { blobs } = store(t)
  const size = 64 * 1024 * 1024
  const { key } = await blobs.write(
    Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024))),
    ANY_SIZE,
  )
  const count = 200
  let outcomes: Promise<unknown>[] = []
  let responses: ServerResponse[] = []
  const server = createServer((_, response) => {
    response.setHeader('content-length', size)
    outcomes.push(blobs.send(key, null, response).catch((error: unknown) => error))
    responses.push(response)
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  for (let round = 0; round < 2; round++) {
    outcomes = []
    responses = []
    const clients = Array.from({ length: count }, () =>
      connect((server.address() as AddressInfo).port, '127.0.0.1').pause(),
    )
    t.after(() => clients.forEach((client) => void client.destroy()))
    for (const client of clients) client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    // What waits for a moment only is soon written.
    for (let turns = 0; turns < 200; turns++) {
      await new Promise(setImmediate)
      if (responses.length < count || responses.some(({ writableLength }) => writableLength === 0)) turns = 0
    }
    const kept = responses.map(({ writableLength }) => writableLength)
    assert.equal(kept.filter((bytes) => bytes > 256 * 1024).length, 8)
    assert.equal(kept.filter((bytes) => bytes > 32 * 1024).length, 8 + 128)
    assert.ok(Math.max(...kept) <= 1024 * 1024)
    for (const client of clients) client.destroy()
    for (const outcome of outcomes) assert.ok((await outcome) instanceof Error)
  }
})

function store(t: TestContext) {
  const dir = tempDir()
  t.after(dir.remove)
  const root = join(dir.path, 'blobs')
  return { root, blobs: diskBlobs(root) }
}

function cannotMount(): string | false {
  const dir = tempDir()
  try {
    mkdirSync(join(dir.path, 'm'))
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(dir.path, 'm')], { stdio: 'ignore' })
    execFileSync('umount', [join(dir.path, 'm')])
    return false
  } catch {
    return 'needs the right to mount: run it as root'
  } finally {
    dir.remove()
  }
}
