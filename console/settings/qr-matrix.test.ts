import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBytes, qrCodewords } from './qr-codewords.ts'
import { qrMatrix } from './qr-matrix.ts'

test('check bytes are those of the worked example of ISO/IEC 18004, annex I', () => {
  const data = Uint8Array.from(Buffer.from('10200c566180ec11ec11ec11ec11ec11', 'hex'))
  assert.equal(Buffer.from(checkBytes(data, 10)).toString('hex'), 'a524d4c1ed36c7872c55')
})

test('a text of each version up to 10 gets the smallest code that holds it, and a longer one is refused', () => {
  const longest = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213]
  for (const [i, length] of longest.entries()) {
    assert.equal(qrCodewords('a'.repeat(length)).version, i + 1)
    if (i < 9) assert.equal(qrCodewords('a'.repeat(length + 1)).version, i + 2)
  }
  assert.throws(() => qrMatrix('a'.repeat(214)), RangeError)
})

test('a code is drawn as other encoders draw it', () => {
  const rows = qrMatrix('otpauth:kinora').map((row) => row.map((dark) => (dark ? '#' : '.')).join(''))
  assert.deepEqual(rows, GOLDEN)
})

/** By libqrencode 4.1. */
const GOLDEN = [
  '#######..##...#######',
  '#.....#...#.#.#.....#',
  '#.###.#.#.#...#.###.#',
  '#.###.#.##..#.#.###.#',
  '#.###.#.##..#.#.###.#',
  '#.....#.#.#.#.#.....#',
  '#######.#.#.#.#######',
  '........##.##........',
  '#.#####...#.#.#####..',
  '.......##.#...#.#####',
  '.####.##.####.##..##.',
  '#.####.#.....#.#.####',
  '.#....#...#.#.####.##',
  '........#.##..###.#.#',
  '#######...#####...##.',
  '#.....#.##.#.#.#.##.#',
  '#.###.#.####..#....##',
  '#.###.#.#.....#.#.#..',
  '#.###.#.######...##..',
  '#.....#..#...#...##..',
  '#######.####..#..#.#.',
]
