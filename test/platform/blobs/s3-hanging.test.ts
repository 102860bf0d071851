import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { testBucket } from '../../support/bucket/bucket.ts'
import { tempDir } from '../../support/service.ts'
import { type Fault, startFaultyS3 } from '../../support/upstream/s3-faults.ts'
import { ANY_SIZE, all } from './contract.ts'

/** A test that waits for an answer without end fails. */
const ONE_MINUTE = { timeout: 60_000 }

/** Larger than what goes in one request, and than what sockets take without a reader. */
const LARGE = randomBytes(20_000_000)

for (const kind of ['stall', 'deaf'] as const) {
  test(
    `while the bucket hangs (${kind}) every call ends, long before its own time limit, and works at once when it answers again`,
    ONE_MINUTE,
    async (t) => {
      const { blobs, faulty } = await store(t)
      const { key } = await blobs.write(Readable.from([Buffer.from('kept')]), ANY_SIZE)
      faulty.state.fault = () => ({ kind })
      const calls: Record<string, () => Promise<unknown>> = {
        write: () => blobs.write(Readable.from([Buffer.from('new')]), ANY_SIZE),
        large: () => blobs.write(Readable.from([LARGE]), ANY_SIZE),
        open: () => blobs.open(key),
        size: () => blobs.size(key),
        file: () => blobs.withLocalFile(key, async () => {}),
        remove: () => blobs.remove(key),
        list: () => all(blobs.list({ older_than: new Date() })),
        check: () => blobs.check(),
      }
      for (let round = 0; round < 3; round++)
        await Promise.all(
          Object.entries(calls).map(([name, call]) =>
            assert.rejects(call(), { name: 'BlobsAway' }, `${name} ${round}`),
          ),
        )
      faulty.state.fault = () => null
      // Within a second a failed probe is believed.
      while ((await blobs.check().catch(() => 'away')) === 'away') await new Promise(setImmediate)
      assert.equal((await buffer(await blobs.open(key))).toString(), 'kept')
    },
  )
}

test(
  'once the bucket is known to hang, a call sends nothing but the question whether it still does',
  ONE_MINUTE,
  async (t) => {
    const { blobs, faulty } = await store(t)
    faulty.state.fault = () => ({ kind: 'stall' })
    await assert.rejects(blobs.check(), { name: 'BlobsAway' })
    const before = faulty.state.seen.length
    await Promise.all(
      Array.from({ length: 50 }, () =>
        assert.rejects(blobs.write(Readable.from([Buffer.from('new')]), ANY_SIZE), { name: 'BlobsAway' }),
      ),
    )
    const since = faulty.state.seen.slice(before)
    assert.ok(since.length <= 1 && since.every((each) => each.startsWith('HEAD')), since.join())
  },
)

test(
  'a bucket that hangs at writes alone ends them, and each that follows, while it is read from',
  ONE_MINUTE,
  async (t) => {
    const { blobs, faulty } = await store(t)
    const { key } = await blobs.write(Readable.from([Buffer.from('kept')]), ANY_SIZE)
    faulty.state.fault = ({ method }) => (method === 'GET' || method === 'HEAD' ? null : { kind: 'stall' })
    const write = () => blobs.write(Readable.from([Buffer.from('new')]), ANY_SIZE)
    await assert.rejects(write(), { name: 'BlobsAway' })
    const before = faulty.state.seen.length
    await Promise.all(Array.from({ length: 50 }, () => assert.rejects(write(), { name: 'BlobsAway' })))
    assert.ok(faulty.state.seen.length - before <= 1, faulty.state.seen.slice(before).join())
    assert.equal((await buffer(await blobs.open(key))).toString(), 'kept')
    faulty.state.fault = () => null
    // Within a second a failed probe is believed.
    while ((await write().catch(() => 'away')) === 'away') await new Promise(setImmediate)
  },
)

test('a request that takes long is left alone while the bucket answers others', ONE_MINUTE, async (t) => {
  const { blobs, faulty } = await store(t)
  const released = Promise.withResolvers<void>()
  let writes = 0
  faulty.state.fault = ({ method }): Fault | null =>
    method === 'PUT' && ++writes === 1 ? { kind: 'late', until: released.promise } : null
  const writing = blobs.write(Readable.from([Buffer.from('slow')]), ANY_SIZE)
  const questions = () => faulty.state.seen.filter((each) => each.startsWith('HEAD')).length
  while (questions() < 3) await new Promise(setImmediate)
  assert.equal(await blobs.mark(), null)
  released.resolve()
  const { key } = await writing
  assert.equal((await buffer(await blobs.open(key))).toString(), 'slow')
})

/** Time limits of a call are out of the way: what ends one is that the bucket hangs. */
async function store(t: TestContext) {
  const dir = tempDir()
  t.after(dir.remove)
  const bucket = await testBucket()
  const faulty = await startFaultyS3(bucket.endpoint!)
  t.after(faulty.close)
  const long = 600_000
  const timeouts = { request_ms: long, part_ms: long, stall_ms: long, silence_ms: 300, probe_ms: 300 }
  const options = { ...bucket, endpoint: faulty.endpoint }
  return { faulty, blobs: s3Blobs(options, { staging_dir: dir.path, timeouts }) }
}
