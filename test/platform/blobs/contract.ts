import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Blobs } from '../../../server/platform/blobs/blobs.ts'
import { law } from '../../support/law.ts'

export const ANY_SIZE = { max_bytes: Number.POSITIVE_INFINITY }

type Make = (t: TestContext) => Promise<{ blobs: Blobs; staging: string }>

/** What `Blobs` promises, for every place they can be in. `staging` is the directory of what is staged; `runs` are those of the law. */
export function blobsContract(name: string, { store, runs }: { store: Make; runs: number }): void {
  readingContract(name, { store, runs })
  stagingContract(name, store)
  keepingContract(name, store)
}

function readingContract(name: string, { store, runs }: { store: Make; runs: number }): void {
  law(
    `${name}: what is written comes back byte for byte, whole and by any range, with its size and sha256`,
    async (seed, t) => {
      const { blobs } = await store(t)
      const chunks = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 8 })
      const property = fc.asyncProperty(chunks, fc.nat(), fc.nat(), async (parts, a, b) => {
        const bytes = Buffer.concat(parts)
        const stored = await blobs.write(Readable.from(parts), ANY_SIZE)
        assert.equal(stored.sha256, createHash('sha256').update(bytes).digest('hex'))
        assert.equal(stored.size_bytes, bytes.length)
        assert.equal(await blobs.size(stored.key), bytes.length)
        assert.deepEqual(await sent(stored.key, null), bytes)
        assert.deepEqual(await buffer(await blobs.open(stored.key)), bytes)
        if (bytes.length === 0) return
        const [start, end] = [a % bytes.length, b % bytes.length].sort((x, y) => x - y) as [number, number]
        assert.deepEqual(await sent(stored.key, { start, end }), bytes.subarray(start, end + 1))
        assert.deepEqual(await buffer(await blobs.open(stored.key, { start, end })), bytes.subarray(start, end + 1))
      })
      await fc.assert(property, { seed, numRuns: runs })

      async function sent(key: string, range: { start: number; end: number } | null): Promise<Buffer> {
        const chunks: Buffer[] = []
        const out = new Writable({
          write(chunk, _, done) {
            chunks.push(Buffer.from(chunk))
            done()
          },
        })
        await blobs.send(key, range, out)
        return Buffer.concat(chunks)
      }
    },
  )

  test(`${name}: every reader gets its own bytes, whoever read and left before, and the bytes of one who left stay its own`, async (t) => {
    const { blobs } = await store(t)
    const sizes = [10, 100_000, 300_000, 1_500_000, 3_000_000]
    const wanted = sizes.map((size, i) => Buffer.alloc(size, i + 1))
    const keys = await Promise.all(
      wanted.map(async (bytes) => (await blobs.write(Readable.from([bytes]), ANY_SIZE)).key),
    )
    const read = async (i: number) => {
      const received: Buffer[] = []
      const write = (chunk: Buffer, _: unknown, done: () => void) => {
        setImmediate(() => {
          received.push(Buffer.from(chunk))
          done()
        })
      }
      await blobs.send(keys[i]!, null, new Writable({ write }))
      assert.ok(Buffer.concat(received).equals(wanted[i]!))
    }
    const left: Array<{ chunk: Buffer; i: number }> = []
    const leave = (i: number) => {
      const write = (chunk: Buffer) => {
        left.push({ chunk, i })
        out.destroy()
      }
      const out: Writable = new Writable({ write })
      return assert.rejects(blobs.send(keys[i]!, null, out))
    }
    for (let round = 0; round < 4; round++)
      await Promise.all(sizes.flatMap((_, i) => [read(i), leave(i), read(sizes.length - 1 - i)]))
    assert.equal(left.length, 4 * sizes.length)
    for (const { chunk, i } of left) assert.ok(chunk.equals(wanted[i]!.subarray(0, chunk.length)))
  })
}

function stagingContract(name: string, store: Make): void {
  test(`${name}: a source that fails, an abort, a hung source that is aborted, and one byte too many leave nothing`, async (t) => {
    const { blobs, staging } = await store(t)
    const broken = async function* () {
      yield Buffer.alloc(100_000)
      throw new Error('the client left')
    }
    await assert.rejects(blobs.stage(broken(), ANY_SIZE), /the client left/)
    const controller = new AbortController()
    const hung = new Readable({ read() {} })
    hung.push(Buffer.alloc(10))
    const aborted = blobs.stage(hung, { ...ANY_SIZE, signal: controller.signal })
    controller.abort(new Error('shutting down'))
    await assert.rejects(aborted, /shutting down/)
    await assert.rejects(
      blobs.stage(Readable.from([Buffer.alloc(10)]), { ...ANY_SIZE, signal: controller.signal }),
      /shutting down/,
    )
    const cut = new Readable({ read() {} })
    cut.push(Buffer.alloc(10))
    setImmediate(() => cut.destroy())
    await assert.rejects(blobs.stage(cut, ANY_SIZE), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
    await assert.rejects(blobs.stage(Readable.from([Buffer.alloc(10), Buffer.alloc(1)]), { max_bytes: 10 }), {
      name: 'BlobTooLarge',
      max_bytes: 10,
    })
    assert.equal((await blobs.write(Readable.from([Buffer.alloc(10)]), { max_bytes: 10 })).size_bytes, 10)
    assert.deepEqual(readdirSync(staging), [])
  })

  test(`${name}: a staged blob is readable for inspection, nowhere listed, and gone when discarded`, async (t) => {
    const { blobs, staging } = await store(t)
    const staged = await blobs.stage(Readable.from([Buffer.from('hello')]), ANY_SIZE)
    assert.equal(await blobs.withLocalFile(staged, async (path) => readFileSync(path, 'utf8')), 'hello')
    assert.deepEqual(await all(blobs.list({ older_than: inAnHour() })), [])
    await blobs.discard(staged)
    await blobs.discard(staged)
    await assert.rejects(blobs.publish(staged))
    assert.deepEqual(readdirSync(staging), [])
    const kept = await blobs.stage(Readable.from([Buffer.from('kept')]), ANY_SIZE)
    const key = await blobs.publish(kept)
    await blobs.discard(kept)
    assert.equal(await blobs.withLocalFile(key, async (path) => readFileSync(path, 'utf8')), 'kept')
  })
}

function keepingContract(name: string, store: Make): void {
  test(`${name}: a removed, unknown or foreign key is BlobMissing, and no key reaches outside the store`, async (t) => {
    const { blobs } = await store(t)
    const { key } = await blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE)
    assert.equal(await blobs.remove(key), true)
    assert.equal(await blobs.remove(key), false)
    const missing = { name: 'BlobMissing' }
    await assert.rejects(blobs.open(key), missing)
    await assert.rejects(blobs.size(key), missing)
    await assert.rejects(blobs.send(key, null, new Writable()), missing)
    await assert.rejects(
      blobs.withLocalFile(key, async () => {}),
      missing,
    )
    for (const bad of [
      '../../etc/passwd',
      '',
      'a',
      '/etc/passwd',
      `${key}/..`,
      key.toUpperCase().replace(/\d/g, 'A'),
    ]) {
      await assert.rejects(async () => blobs.open(bad), missing)
      await assert.rejects(async () => blobs.remove(bad), missing)
    }
  })

  test(`${name}: the sweeps see what was last written before the time asked for, published or staged`, async (t) => {
    const { blobs, staging } = await store(t)
    const staged = await blobs.stage(Readable.from([Buffer.from('old')]), ANY_SIZE)
    utimesSync(join(staging, staged.temp), new Date(0), new Date(0))
    const fresh = await blobs.stage(Readable.from([Buffer.from('fresh')]), ANY_SIZE)
    const key = await blobs.publish(fresh)
    assert.deepEqual(await all(blobs.list({ older_than: new Date(Date.now() - 3600_000) })), [])
    assert.deepEqual(await all(blobs.list({ older_than: inAnHour() })), [{ key, size_bytes: 5 }])
    assert.equal(await blobs.sweepStaged({ older_than: new Date(1) }), 1)
    assert.equal(await blobs.sweepStaged({ older_than: inAnHour() }), 0)
    assert.equal(await blobs.size(key), 5)
  })

  test(`${name}: a blob that is copied keeps its key, and its mark is replaced as a whole`, async (t) => {
    const { blobs } = await store(t)
    const key = 'ab'.repeat(16)
    const staged = await blobs.stage(Readable.from([Buffer.from('copied')]), ANY_SIZE)
    assert.equal(await blobs.publish(staged, key), key)
    const again = await blobs.stage(Readable.from([Buffer.from('copied')]), ANY_SIZE)
    assert.equal(await blobs.publish(again, key), key)
    assert.equal((await buffer(await blobs.open(key))).toString(), 'copied')
    assert.deepEqual(await all(blobs.list({ older_than: inAnHour() })), [{ key, size_bytes: 6 }])
    assert.equal(await blobs.mark(), null)
    await blobs.setMark({ installation_id: 'inst_a', paired: false })
    await blobs.setMark({ installation_id: 'inst_a', paired: true, partial: true })
    assert.deepEqual(await blobs.mark(), { installation_id: 'inst_a', paired: true, partial: true })
    await blobs.check()
  })
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const each of items) list.push(each)
  return list
}

function inAnHour(): Date {
  return new Date(Date.now() + 3600_000)
}
