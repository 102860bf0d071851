import { qrCodewords } from './qr-codewords.ts'

/** Rows of modules, true for dark, without the quiet zone of four modules. */
export type QrMatrix = boolean[][]

/**
 * A QR code of level M for a text of at most 213 bytes in UTF-8, with the mask that reads best. Throws RangeError beyond.
 * Source: ISO/IEC 18004:2015, sections 7.7 to 7.10.
 */
export function qrMatrix(text: string): QrMatrix {
  const { version, codewords } = qrCodewords(text)
  const candidates = MASKS.map((mask, number) => {
    const grid = newGrid(version)
    drawFormat(grid, number)
    drawData(grid, codewords, mask)
    return grid.dark
  })
  return candidates.reduce((best, each) => (penalty(each) < penalty(best) ? each : best))
}

type Grid = { size: number; dark: boolean[][]; taken: boolean[][] }

const MASKS: ReadonlyArray<(x: number, y: number) => boolean> = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

/** Centres of alignment patterns, in both directions, by version. Source: ISO/IEC 18004:2015, table E.1. */
const ALIGNMENTS: ReadonlyArray<readonly number[]> = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
]

/** Everything that does not depend on text or mask. */
function newGrid(version: number): Grid {
  const size = version * 4 + 17
  const empty = () => Array.from({ length: size }, () => Array<boolean>(size).fill(false))
  const grid: Grid = { size, dark: empty(), taken: empty() }
  for (let i = 0; i < size; i++) {
    set(grid, 6, i, i % 2 === 0)
    set(grid, i, 6, i % 2 === 0)
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    drawRings(grid, { x, y, reach: 4 })
  const centres = ALIGNMENTS[version - 1]!
  const last = centres.at(-1)
  for (const x of centres) {
    for (const y of centres) {
      const inCorner = (x === 6 && (y === 6 || y === last)) || (x === last && y === 6)
      if (!inCorner) drawRings(grid, { x, y, reach: 2 })
    }
  }
  if (version >= 7) drawVersion(grid, version)
  return grid
}

function set(grid: Grid, x: number, y: number, dark: boolean): void {
  if (x < 0 || y < 0 || x >= grid.size || y >= grid.size) return
  grid.dark[y]![x] = dark
  grid.taken[y]![x] = true
}

/** A finder (reach 4, its white border included) or an alignment pattern (reach 2) around a centre. */
function drawRings(grid: Grid, { x, y, reach }: { x: number; y: number; reach: 4 | 2 }): void {
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const ring = Math.max(Math.abs(dx), Math.abs(dy))
      set(grid, x + dx, y + dy, reach === 4 ? ring !== 2 && ring !== 4 : ring !== 1)
    }
  }
}

/** Level M and the mask, with their 10 check bits, twice. */
function drawFormat(grid: Grid, mask: number): void {
  const bits = ((mask << 10) | remainder(mask, { bits: 10, generator: 0x537 })) ^ 0x5412
  const bit = (i: number) => ((bits >> i) & 1) === 1
  const { size } = grid
  for (let i = 0; i < 15; i++) {
    const [x, y] = i < 6 ? [8, i] : i < 8 ? [8, i + 1] : i === 8 ? [7, 8] : [14 - i, 8]
    set(grid, x!, y!, bit(i))
    if (i < 8) set(grid, size - 1 - i, 8, bit(i))
    else set(grid, 8, size - 15 + i, bit(i))
  }
  set(grid, 8, size - 8, true)
}

function drawVersion(grid: Grid, version: number): void {
  const bits = (version << 12) | remainder(version, { bits: 12, generator: 0x1f25 })
  for (let i = 0; i < 18; i++) {
    const dark = ((bits >> i) & 1) === 1
    const near = grid.size - 11 + (i % 3)
    const far = Math.floor(i / 3)
    set(grid, near, far, dark)
    set(grid, far, near, dark)
  }
}

function remainder(value: number, { bits, generator }: { bits: number; generator: number }): number {
  let rest = value
  for (let i = 0; i < bits; i++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * generator)
  return rest
}

/** Two columns at a time from the right, up and down in turn, around what is taken. */
function drawData(grid: Grid, codewords: Uint8Array, mask: (x: number, y: number) => boolean): void {
  const { size } = grid
  let at = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    const upward = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++) {
      const y = upward ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        if (grid.taken[y]![x]) continue
        const bit = at < codewords.length * 8 && ((codewords[at >> 3]! >> (7 - (at & 7))) & 1) === 1
        at++
        grid.dark[y]![x] = bit !== mask(x, y)
      }
    }
  }
}

/** How hard a code is to read: long runs, blocks, what looks like a finder, and uneven darkness. */
function penalty(dark: QrMatrix): number {
  const size = dark.length
  const across = dark[0]!.map((_, x) => dark.map((row) => row[x]!))
  const lines = [...dark, ...across].reduce((sum, line) => sum + linePenalty(line), 0)
  let blocks = 0
  let count = 0
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (dark[y]![x]) count++
      const same = (other: boolean | undefined) => other === dark[y]![x]
      if (x + 1 < size && y + 1 < size && same(dark[y]![x + 1]) && same(dark[y + 1]![x]) && same(dark[y + 1]![x + 1]))
        blocks += 3
    }
  }
  return lines + blocks + Math.floor(Math.abs((count * 20) / (size * size) - 10)) * 10
}

const FINDER_LIKE = [/(?=00001011101)/g, /(?=10111010000)/g]

function linePenalty(line: readonly boolean[]): number {
  const text = line.map((dark) => (dark ? '1' : '0')).join('')
  const runs = [...text.matchAll(/0{5,}|1{5,}/g)].reduce((sum, [run]) => sum + run.length - 2, 0)
  return runs + FINDER_LIKE.reduce((sum, pattern) => sum + [...text.matchAll(pattern)].length * 40, 0)
}
