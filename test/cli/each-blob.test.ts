import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eachBlob } from '../../server/cli/admin/backup/files.ts'
import { tempDir } from '../support/service.ts'

test('every blob of a list is used once, some at a time', async (t) => {
  const used: string[] = []
  let [active, most] = [0, 0]
  await eachBlob(listOf(t, 20), async ({ key, sha256, size_bytes }) => {
    assert.deepEqual([sha256, size_bytes], ['sum', 7])
    most = Math.max(most, ++active)
    await new Promise(setImmediate)
    used.push(key)
    active -= 1
  })
  assert.deepEqual(used.toSorted(), Array.from({ length: 20 }, (_, n) => `key${n}`).toSorted())
  assert.equal(most, 4)
})

test('the first error ends the use of a list, at whatever moment it comes, once what is in progress has ended', async (t) => {
  const last = Promise.withResolvers<void>()
  let ended = 0
  const using = eachBlob(listOf(t, 20), async ({ key }) => {
    if (key === 'key0') throw new Error('damaged')
    await last.promise
    ended += 1
    throw new Error('damaged as well')
  })
  setImmediate(last.resolve)
  await assert.rejects(using, { message: 'damaged' })
  assert.equal(ended, 3)
})

/** The list of a backup that has so many blobs. */
function listOf(t: TestContext, count: number): string {
  const { path, remove } = tempDir()
  t.after(remove)
  const list = join(path, 'blobs.tsv')
  writeFileSync(list, Array.from({ length: count }, (_, n) => `key${n}\tsum\t7\n`).join(''))
  return list
}
