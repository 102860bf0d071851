import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * False when an MP4 ends before the boxes it announces: the head of a clip whose transfer broke off reads like a whole one. A file that
 * does not begin like an MP4 passes; others judge it. Reads in one go: for a worker, not for the main thread.
 * Source: ISO/IEC 14496-12, section 4.2, https://www.iso.org/standard/83102.html
 */
export function isWholeMp4(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const head = Buffer.alloc(16)
    for (let at = 0; at < size; ) {
      const bytesRead = readSync(file, head, 0, 16, at)
      if (at === 0 && head.toString('latin1', 4, 8) !== 'ftyp') return true
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

/** 0 for a box that reaches to the end of the file. */
function boxLength(head: Buffer, bytesRead: number): number {
  const length = head.readUInt32BE(0)
  if (length !== 1) return length
  return bytesRead < 16 ? -1 : Number(head.readBigUInt64BE(8))
}
