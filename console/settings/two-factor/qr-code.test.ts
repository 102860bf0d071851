import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QUIET_ZONE, qrPath } from './qr-code.ts'

test('a QR code matches the one of another encoder', () => {
  const drawn = qrPath('otpauth:kinora')!
  assert.equal(drawn.size, GOLDEN.length + 2 * QUIET_ZONE)
  assert.deepEqual(rowsOf(drawn.path), GOLDEN)
})

test('a text that is too long for a QR code gives null', () => {
  assert.equal(qrPath('a'.repeat(3000)), null)
})

/** The modules a path covers, without the quiet zone. */
function rowsOf(path: string): string[] {
  const rows = GOLDEN.map((row) => [...row].map(() => '.'))
  for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let i = 0; i < Number(length); i++) rows[Number(y) - QUIET_ZONE]![Number(x) - QUIET_ZONE + i] = '#'
  }
  return rows.map((row) => row.join(''))
}

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
