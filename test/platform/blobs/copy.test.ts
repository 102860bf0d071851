import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { Blobs } from '../../../server/platform/blobs/blobs.ts'
import { copyBlobs } from '../../../server/platform/blobs/copy.ts'
import { diskBlobs } from '../../../server/platform/blobs/disk.ts'
import { s3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { testBucket } from '../../support/bucket/bucket.ts'
import { damageObject } from '../../support/bucket/storage.ts'
import { tempDir } from '../../support/service.ts'
import { ANY_SIZE } from './contract.ts'

test('a target whose bucket does not exist fails the copy', async (t) => {
  const { source, dir } = await filled(t)
  const target = s3Blobs({ ...(await testBucket()), bucket: 'deleted' }, { staging_dir: join(dir, 'staging') })
  await assert.rejects(copyBlobs(source, target), { name: 'BlobsAway' })
})

test('a blob that is deleted after it was listed is lost to that copy alone, and so is one deleted while it is read', async (t) => {
  const { source, dir, keys } = await filled(t)
  const target = diskBlobs(join(dir, 'target'))
  const missing = async () => {
    await source.remove(keys[1]!)
    return source.open(keys[1]!)
  }
  const open: Blobs['open'] = async (key) => (key === keys[1] ? missing() : source.open(key))
  assert.deepEqual(await copyBlobs({ ...source, open }, target), { found: 2, copied: 1, bytes: 3, lost: [keys[1]] })
  const broken: Blobs['open'] = async () => Readable.from(interrupted(missing))
  await target.remove(keys[0]!)
  const cut = await copyBlobs({ ...source, open: broken }, target)
  assert.deepEqual(cut, { found: 1, copied: 0, bytes: 0, lost: [keys[0]] })
  assert.deepEqual(await copyBlobs(source, target), { found: 1, copied: 1, bytes: 3, lost: [] })
  assert.equal((await buffer(await target.open(keys[0]!))).toString(), 'one')
})

test('damaged blobs are lost, and all others are copied', async (t) => {
  const { source, dir } = await filled(t)
  const bucket = await testBucket()
  const damaged = s3Blobs(bucket, { staging_dir: join(dir, 'staging') })
  await copyBlobs(source, damaged)
  const { key } = await damaged.write(Readable.from([Buffer.from('three')]), ANY_SIZE)
  await damageObject(bucket, key)
  const target = diskBlobs(join(dir, 'target'))
  assert.deepEqual(await copyBlobs(damaged, target), { found: 3, copied: 2, bytes: 6, lost: [key] })
  await assert.rejects(target.size(key), { name: 'BlobMissing' })
})

async function* interrupted(next: () => Promise<unknown>): AsyncIterable<Uint8Array> {
  yield Buffer.from('o')
  await next()
}

/** Blobs on disk, two of them. */
async function filled(t: TestContext) {
  const { path: dir, remove } = tempDir()
  t.after(remove)
  const source = diskBlobs(join(dir, 'source'))
  const keys = []
  for (const text of ['one', 'two']) keys.push((await source.write(Readable.from([Buffer.from(text)]), ANY_SIZE)).key)
  return { source, dir, keys }
}
