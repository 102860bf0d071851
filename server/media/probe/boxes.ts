import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Part of the movie's timeline that players show of a track, in seconds. */
export type Shown = { start: number; end: number }

/** An index larger than this is not read for edit lists: it describes hours. */
const INDEX_BYTES_MAX = 32 * 1024 * 1024

/**
 * False when an MP4 ends before the boxes it announces: the head of a truncated download is otherwise valid. True for a file that does
 * not begin like an MP4. Reads synchronously: not for the main thread.
 * Source: ISO/IEC 14496-12, section 4.2, https://www.iso.org/standard/83102.html
 */
export function isWholeMp4(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const head = Buffer.alloc(16)
    for (let at = 0; at < size; ) {
      const bytesRead = readSync(file, head, 0, 16, at)
      if (at === 0 && nameOf(head, 0) !== 'ftyp') return true
      if (bytesRead < 8) return false
      const length = boxLength(head, bytesRead)
      if (length === 0) return true
      if (length < 8 || at + length > size) return false
      at += length
    }
    return true
  } finally {
    closeSync(file)
  }
}

/**
 * What the edit lists of an MP4 or MOV show, by track id. A track is missing when it has no edit list, and when its list has several parts
 * or changes the speed: nothing of it may then be called hidden. Reads synchronously: not for the main thread.
 * Source: ISO/IEC 14496-12, section 8.6.6
 */
export function shownByEditLists(path: string): Map<number, Shown> {
  const shown = new Map<number, Shown>()
  const index = readIndex(path)
  if (index === null) return shown
  const movie = childrenOf(index, 0, index.length)
  const timescale = timescaleOf(index, movie)
  for (const track of movie.filter(({ name }) => name === 'trak')) {
    const boxes = childrenOf(index, track.start, track.end)
    const header = boxes.find(({ name }) => name === 'tkhd')
    const edits = boxes.find(({ name }) => name === 'edts')
    const list = edits && childrenOf(index, edits.start, edits.end).find(({ name }) => name === 'elst')
    if (header === undefined || list === undefined || !(timescale > 0)) continue
    const part = shownBy(index.subarray(list.start, list.end), timescale)
    // Version 1 has two times of 8 bytes before the id.
    const id = index.readUInt32BE(header.start + (index[header.start] === 1 ? 20 : 12))
    if (part !== null) shown.set(id, part)
  }
  return shown
}

/** The only part that an edit list shows, after the pause before it; null for several parts and for another speed. */
function shownBy(list: Buffer, timescale: number): Shown | null {
  const isLong = list[0] === 1
  const size = isLong ? 20 : 12
  let pause = 0
  let shown: Shown | null = null
  const count = Math.min(list.readUInt32BE(4), Math.floor((list.length - 8) / size))
  for (let i = 0; i < count; i++) {
    const at = 8 + i * size
    const duration = (isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at)) / timescale
    const from = isLong ? Number(list.readBigInt64BE(at + 8)) : list.readInt32BE(at + 4)
    if (from === -1 && shown === null) {
      pause += duration
      continue
    }
    if (from === -1) continue
    if (shown !== null || list.readInt32BE(at + size - 4) !== ONE) return null
    // The writer did not know the length of what follows: a fragmented file.
    shown = { start: pause, end: duration === 0 ? Number.POSITIVE_INFINITY : pause + duration }
  }
  return shown
}

/** The speed 1 as a fixed-point number. */
const ONE = 0x10000

type Box = { name: string; start: number; end: number }

/** The boxes inside a part of the index; `start` is behind their heads. */
function childrenOf(bytes: Buffer, from: number, to: number): Box[] {
  const boxes: Box[] = []
  for (let at = from; at + 8 <= to; ) {
    const length = boxLength(bytes.subarray(at, at + 16), to - at) || to - at
    if (length < 8 || at + length > to) break
    const head = bytes.readUInt32BE(at) === 1 ? 16 : 8
    boxes.push({ name: nameOf(bytes, at), start: at + head, end: at + length })
    at += length
  }
  return boxes
}

function timescaleOf(index: Buffer, movie: readonly Box[]): number {
  const header = movie.find(({ name }) => name === 'mvhd')
  return header === undefined ? 0 : index.readUInt32BE(header.start + (index[header.start] === 1 ? 20 : 12))
}

/** The content of the box that describes all tracks. */
function readIndex(path: string): Buffer | null {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const head = Buffer.alloc(16)
    for (let at = 0; at + 8 <= size; ) {
      const bytesRead = readSync(file, head, 0, 16, at)
      const length = boxLength(head, bytesRead) || size - at
      if (length < 8 || at + length > size) return null
      if (nameOf(head, 0) === 'moov') return length > INDEX_BYTES_MAX ? null : readBox(file, at, length)
      at += length
    }
    return null
  } finally {
    closeSync(file)
  }
}

function readBox(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  readSync(file, bytes, 0, length, at)
  return bytes.subarray(bytes.readUInt32BE(0) === 1 ? 16 : 8)
}

function nameOf(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at + 4, at + 8)
}

/** 0 for a box that reaches to the end of the file. */
function boxLength(head: Buffer, bytesRead: number): number {
  const length = head.readUInt32BE(0)
  if (length !== 1) return length
  return bytesRead < 16 ? -1 : Number(head.readBigUInt64BE(8))
}
