import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { constants, zstdCompressSync } from 'node:zlib'
import { splitFrames, TOO_MANY_FRAMES } from './zstd-frames.ts'

const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } }
const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
/** Of one block and of several, of one repeated byte, of nothing, with a checksum, and one that decoders skip. */
const FRAMES = [
  zstdCompressSync('{"a":1}'),
  zstdCompressSync(randomBytes(140_000)),
  zstdCompressSync(Buffer.alloc(300_000, 'a'), checked),
  skippable,
  zstdCompressSync(''),
  zstdCompressSync('x'.repeat(70_000), checked),
]

async function* piecesOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('no piece goes on after the end of a frame, however the body arrives', async () => {
  const body = Buffer.concat(FRAMES)
  const ends = FRAMES.map((_, i) => Buffer.concat(FRAMES.slice(0, i + 1)).length)
  for (const size of [7, 1000, body.length]) {
    const pieces = await Array.fromAsync(splitFrames(piecesOf(body, size), { few: true }))
    assert.deepEqual(Buffer.concat(pieces), body)
    let at = 0
    const cuts = new Set(pieces.map(({ length }) => (at += length)))
    assert.ok(
      ends.every((end) => cuts.has(end)),
      String(size),
    )
  }
})

test('what is no frame, or none to its end, comes as it is', async () => {
  for (const body of [
    Buffer.from('{"a":1}'),
    Buffer.concat([FRAMES[0]!, Buffer.from('junk and more')]),
    Buffer.from('('),
  ]) {
    assert.deepEqual(Buffer.concat(await Array.fromAsync(splitFrames(piecesOf(body, 3), { few: true }))), body)
  }
})

test('where few are wanted, short frames are refused after a hundred, however many come at once; long ones are not', async () => {
  const short = zstdCompressSync('')
  const many = Buffer.concat(Array.from({ length: 5000 }, () => short))
  for (const size of [7, 1000, many.length]) {
    let read = 0
    const split = async () => {
      for await (const { length } of splitFrames(piecesOf(many, size), { few: true })) read += length
    }
    await assert.rejects(split, { code: TOO_MANY_FRAMES })
    assert.ok(read <= 105 * short.length, String(read))
    assert.equal(
      Buffer.concat(await Array.fromAsync(splitFrames(piecesOf(many, size), { few: false }))).length,
      many.length,
    )
  }
  const long = zstdCompressSync(randomBytes(16_384))
  const body = Buffer.concat(Array.from({ length: 300 }, () => long))
  assert.equal(
    Buffer.concat(await Array.fromAsync(splitFrames(piecesOf(body, 65_536), { few: true }))).length,
    body.length,
  )
})

test('where few are wanted, short blocks are refused after two thousand, however many come at once; long ones are not', async () => {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])
  const block = (size_bytes: number) => Buffer.concat([Buffer.from([size_bytes << 3, 0, 0]), Buffer.alloc(size_bytes)])
  const frameOf = (blocks: number, size_bytes: number) =>
    Buffer.concat([head, ...Array.from({ length: blocks }, () => block(size_bytes))])
  const empty = frameOf(40_000, 0)
  for (const size of [1000, 65_536, empty.length]) {
    let read = 0
    const split = async () => {
      for await (const { length } of splitFrames(piecesOf(empty, size), { few: true })) read += length
    }
    await assert.rejects(split, { code: TOO_MANY_FRAMES })
    assert.ok(read <= 2200 * 3, String(read))
    assert.equal(
      Buffer.concat(await Array.fromAsync(splitFrames(piecesOf(empty, size), { few: false }))).length,
      empty.length,
    )
  }
  const long = frameOf(40_000, 29)
  assert.equal(
    Buffer.concat(await Array.fromAsync(splitFrames(piecesOf(long, 65_536), { few: true }))).length,
    long.length,
  )
})
