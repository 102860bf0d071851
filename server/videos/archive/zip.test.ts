import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { readDirectory } from '../../../test/support/zip.ts'
import { type ZipEntry, zipOf } from './zip.ts'

const modified_at = new Date('2026-11-27T12:34:56Z')
const of = (name: string, ...chunks: readonly Buffer[]): ZipEntry => ({
  name,
  modified_at,
  size_bytes: chunks.reduce((sum, { length }) => sum + length, 0),
  open: async () => Readable.from(chunks),
})

test('an archive of more than 4 GiB says where everything is, in fields of 64 bits', async () => {
  const chunk = Buffer.alloc(32 * 1024 * 1024, 'x')
  const big = {
    ...of('big.mp4'),
    size_bytes: chunk.length * 129,
    open: async () => Readable.from(Array(129).fill(chunk)),
  }
  const { size_bytes, bytes } = zipOf([of('first.mp4', Buffer.from('abc')), big, of('last.mp4', Buffer.from('def'))])
  let length = 0
  let tail = Buffer.alloc(0)
  for await (const each of bytes) {
    length += each.length
    tail = each === chunk ? Buffer.alloc(0) : Buffer.concat([tail, each])
  }
  assert.equal(length, size_bytes)
  const [first, large, last] = readDirectory(tail, length - tail.length)
  assert.deepEqual(first, { name: 'first.mp4', size: 3, offset: 0, crc: crc32('abc'), is_zip64: false })
  assert.deepEqual([large!.size, large!.is_zip64], [chunk.length * 129, true])
  assert.deepEqual([last!.name, last!.size, last!.crc, last!.is_zip64], ['last.mp4', 3, crc32('def'), true])
  const at = last!.offset - (length - tail.length)
  assert.deepEqual([tail.readUInt32LE(at), tail.toString('utf8', at + 38, at + 41)], [0x04034b50, 'def'])
})

test('a file that is shorter or longer than it was ends the archive with an error', async () => {
  for (const size_bytes of [2, 4]) {
    const { bytes } = zipOf([{ ...of('a.mp4', Buffer.from('abc')), size_bytes }])
    await assert.rejects(async () => {
      for await (const _ of bytes);
    }, /does not have/)
  }
})
