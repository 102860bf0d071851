import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type MeasureCall, storageMeasurer } from '../../../server/platform/blobs/metrics.ts'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { toText } from '../../../server/platform/metrics/exposition.ts'
import { openMetrics } from '../../../server/platform/metrics/metrics.ts'
import { testBucket } from '../../support/bucket/bucket.ts'
import { readExposition, sumOf } from '../../support/data/exposition.ts'
import { tempDir } from '../../support/service.ts'
import { type Fault, startFaultyS3 } from '../../support/upstream/s3-faults.ts'
import { ANY_SIZE, all } from './contract.ts'

const FAULTS: Fault[] = [
  { kind: 'reset' },
  { kind: 'stall' },
  { kind: 'status', status: 500, code: 'InternalError' },
  { kind: 'status', status: 503, code: 'SlowDown' },
]

/** No answer about an object: the bucket was deleted, or another server answers at this address. */
const NO_BUCKET: Fault[] = [
  { kind: 'status', status: 404, code: 'NoSuchBucket' },
  { kind: 'body', status: 404, headers: { 'content-type': 'text/html' }, text: '<html><body>Not found</body></html>' },
  { kind: 'body', status: 404, text: '' },
]

test('whatever the bucket does to every request, each call ends as BlobsAway that names no host and no key', async (t) => {
  for (const fault of [...FAULTS, ...NO_BUCKET, { kind: 'status', status: 403, code: 'AccessDenied' } as const]) {
    const { blobs, faulty, staging, bucket } = await store(t)
    const { key } = await blobs.write(Readable.from([Buffer.from('kept')]), ANY_SIZE)
    faulty.state.fault = () => fault
    const calls: Record<string, () => Promise<unknown>> = {
      write: () => blobs.write(Readable.from([Buffer.from('new')]), ANY_SIZE),
      open: () => blobs.open(key),
      size: () => blobs.size(key),
      send: () => blobs.send(key, null, new Writable()),
      file: () => blobs.withLocalFile(key, async () => {}),
      remove: () => blobs.remove(key),
      list: () => all(blobs.list({ older_than: new Date() })),
      mark: () => blobs.mark(),
      setMark: () => blobs.setMark({ installation_id: 'inst_a', paired: true }),
      check: () => blobs.check(),
    }
    await Promise.all(
      Object.entries(calls).map(([name, call]) =>
        assert.rejects(call(), (error: Error) => {
          assert.equal(error.name, 'BlobsAway', `${name} at ${JSON.stringify(fault)}: ${error.stack}`)
          const text = `${error.message} ${JSON.stringify(error)} ${String(error.cause)}`
          assert.doesNotMatch(text, /127\.0\.0\.1|canary|http/)
          assert.ok(!text.includes(bucket.credentials!.access_key_id) && !text.includes(bucket.bucket))
          return true
        }),
      ),
    )
    assert.deepEqual(readdirSync(staging), [])
    faulty.state.fault = () => null
    // For a second it is believed that a bucket hangs.
    while ((await blobs.check().catch(() => 'away')) === 'away') await new Promise(setImmediate)
    assert.equal((await buffer(await blobs.open(key))).toString(), 'kept')
  }
})

test('a fault of one request is not noticed: it is made again', async (t) => {
  const { blobs, faulty } = await store(t)
  for (const fault of FAULTS) {
    let faults = 1
    faulty.state.fault = () => (faults-- > 0 ? fault : null)
    const { key } = await blobs.write(Readable.from([Buffer.from('kept')]), ANY_SIZE)
    faults = 1
    assert.equal((await buffer(await blobs.open(key))).toString(), 'kept')
  }
})

test('a body that is cut off or stalls is read on from where it was, and is never delivered short', async (t) => {
  const { blobs, faulty } = await store(t)
  const bytes = randomBytes(400_000)
  const { key } = await blobs.write(Readable.from([bytes]), ANY_SIZE)
  for (const ends of ['reset', 'stall'] as const) {
    let faults = 2
    faulty.state.fault = ({ method }: IncomingMessage) =>
      method === 'GET' && faults-- > 0 ? { kind: 'cut', bytes: 100_000, ends } : null
    assert.ok((await buffer(await blobs.open(key))).equals(bytes))
    faulty.state.fault = ({ method }) => (method === 'GET' ? { kind: 'cut', bytes: 0, ends } : null)
    await assert.rejects(async () => buffer(await blobs.open(key)), { name: 'BlobsAway' })
  }
  faulty.state.fault = ({ method }) => (method === 'GET' ? { kind: 'flip' } : null)
  await assert.rejects(async () => buffer(await blobs.open(key)), { damaged: true, message: /sha256/ })
})

test('a reader who leaves while the bucket stalls ends the read at once', async (t) => {
  const { blobs, faulty } = await store(t, { stall_ms: 600_000 })
  const { key } = await blobs.write(Readable.from([randomBytes(400_000)]), ANY_SIZE)
  faulty.state.fault = ({ method }) => (method === 'GET' ? { kind: 'cut', bytes: 200_000, ends: 'stall' } : null)
  const out: Writable = new Writable({
    write(_, __, done) {
      done()
      setImmediate(() => out.destroy())
    },
  })
  await assert.rejects(blobs.send(key, null, out))
  const stream = await blobs.open(key)
  stream.resume().once('data', () => stream.destroy())
  await new Promise((resolve) => stream.once('close', resolve))
})

test('a blob that a server does not find is missing to reads alone: a write that is answered with it is BlobsAway', async (t) => {
  const { blobs, faulty } = await store(t)
  const { key } = await blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE)
  faulty.state.fault = () => ({ kind: 'status', status: 404, code: 'NoSuchKey' })
  for (const read of [() => blobs.open(key), () => blobs.size(key)])
    await assert.rejects(read(), { name: 'BlobMissing' })
  await assert.rejects(blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE), { name: 'BlobsAway' })
  faulty.state.fault = ({ method }) => (method === 'DELETE' ? { kind: 'status', status: 404, code: 'NoSuchKey' } : null)
  assert.equal(await blobs.remove(key), false, 'another process has removed it in between')
})

test('a blob that is there is found where the server answers 404 to HEAD alone', async (t) => {
  const { blobs, faulty } = await store(t)
  const { key } = await blobs.write(Readable.from([Buffer.from('four')]), ANY_SIZE)
  faulty.state.fault = ({ method }) => (method === 'HEAD' ? { kind: 'body', status: 404, text: '' } : null)
  assert.equal(await blobs.size(key), 4)
})

test('each call is measured by its operation, and one that fails by what is wrong with the bucket', async (t) => {
  const metrics = openMetrics()
  const { blobs, faulty } = await store(t, {}, storageMeasurer(metrics))
  const { key } = await blobs.write(Readable.from([Buffer.from('kept')]), ANY_SIZE)
  await blobs.remove(key)
  await assert.rejects(blobs.open(key), { name: 'BlobMissing' })
  faulty.state.fault = () => ({ kind: 'status', status: 507, code: 'XMinioStorageFull' })
  await assert.rejects(blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE), { name: 'DiskFull' })
  faulty.state.fault = () => ({ kind: 'status', status: 403, code: 'AccessDenied' })
  await assert.rejects(blobs.open(key), { name: 'BlobsAway' })
  const read = readExposition(await toText([await metrics.read()]))
  const calls = (operation: string) => sumOf(read, 'kinora_storage_call_duration_seconds_count', { operation })
  const errors = (operation: string) => ({
    away: sumOf(read, 'kinora_storage_errors_total', { operation, kind: 'away' }),
    full: sumOf(read, 'kinora_storage_errors_total', { operation, kind: 'full' }),
  })
  assert.deepEqual([calls('Upload'), calls('HeadObject'), calls('DeleteObject'), calls('GetObject')], [2, 1, 1, 2])
  assert.deepEqual(
    [errors('Upload'), errors('GetObject')],
    [
      { away: 0, full: 1 },
      { away: 1, full: 0 },
    ],
  )
})

test('a full bucket is DiskFull', async (t) => {
  const { blobs, faulty } = await store(t)
  faulty.state.fault = () => ({ kind: 'status', status: 507, code: 'XMinioStorageFull' })
  await assert.rejects(blobs.write(Readable.from([Buffer.from('x')]), ANY_SIZE), { name: 'DiskFull' })
})

test('a listing goes on over all pages, and an old upload that was never completed is aborted', async (t) => {
  const { blobs, faulty } = await store(t)
  const [first, second] = ['a'.repeat(32), 'b'.repeat(32)]
  const page = (key: string, next: string) =>
    `<ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>${next}<Contents><Key>blobs/${key}</Key><Size>7</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>`
  const uploads = ['2026-01-01', '2026-03-01'].map(
    (day) =>
      `<Upload><Key>blobs/${first}</Key><UploadId>of-${day}</UploadId><Initiated>${day}T00:00:00.000Z</Initiated></Upload>`,
  )
  faulty.state.fault = ({ method, url }): Fault => {
    if (method === 'DELETE') return { kind: 'body', status: 204, text: '' }
    const text = url!.includes('uploads')
      ? `<ListMultipartUploadsResult>${uploads.join('')}</ListMultipartUploadsResult>`
      : url!.includes('continuation-token=more')
        ? page(second, '')
        : page(first, '<NextContinuationToken>more</NextContinuationToken>')
    return { kind: 'body', status: 200, headers: { 'content-type': 'application/xml' }, text }
  }
  const listed = await all(blobs.list({ older_than: new Date('2026-02-01') }))
  assert.deepEqual(
    listed,
    [first, second].map((key) => ({ key, size_bytes: 7 })),
  )
  assert.equal(await blobs.sweepStaged({ older_than: new Date('2026-02-01') }), 1)
  const aborted = faulty.state.seen.filter((each) => each.startsWith('DELETE'))
  assert.equal(aborted.length, 1)
  assert.match(aborted[0]!, /uploadId=of-2026-01-01/)
})

async function store(t: TestContext, timeouts: { stall_ms?: number } = {}, measure?: MeasureCall) {
  const dir = tempDir()
  t.after(dir.remove)
  const bucket = await testBucket()
  const faulty = await startFaultyS3(bucket.endpoint!)
  t.after(faulty.close)
  const quick = { connect_ms: 1000, request_ms: 1000, part_ms: 1000, stall_ms: 1000, ...timeouts }
  const options = { ...bucket, endpoint: faulty.endpoint }
  const blobs = s3Blobs(options, { staging_dir: dir.path, timeouts: quick, measure })
  return { bucket, faulty, staging: dir.path, blobs }
}
