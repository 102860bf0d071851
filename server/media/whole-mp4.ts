import { open } from 'node:fs/promises'
import { ProbeError } from './probe.ts'

/**
 * Throws ProbeError when an MP4 ends before the boxes it announces: the head of a clip whose transfer broke off reads like a whole
 * one. A file that does not begin like an MP4 passes; others judge it.
 * Source: ISO/IEC 14496-12, section 4.2, https://www.iso.org/standard/83102.html
 */
export async function requireWholeMp4(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const head = Buffer.alloc(16)
    for (let at = 0; at < size; ) {
      const { bytesRead } = await handle.read(head, 0, 16, at)
      if (at === 0 && head.toString('latin1', 4, 8) !== 'ftyp') return
      if (bytesRead < 8) throw cut()
      const length = boxLength(head, bytesRead)
      if (length === 0) return
      if (length < 8 || at + length > size) throw cut()
      at += length
    }
  } finally {
    await handle.close()
  }
}

/** 0 for a box that reaches to the end of the file. */
function boxLength(head: Buffer, bytesRead: number): number {
  const length = head.readUInt32BE(0)
  if (length !== 1) return length
  return bytesRead < 16 ? -1 : Number(head.readBigUInt64BE(8))
}

function cut(): ProbeError {
  return new ProbeError('unreadable', 'The clip ends before the length it announces.')
}
