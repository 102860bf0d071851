import type { Writable } from 'node:stream'

/** Resolves when `out` no longer needs the bytes, so that their buffer can be used again. */
export function writeFully(out: Writable, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error('the reader went away'))
    if (out.destroyed) return onClose()
    out.once('close', onClose)
    out.write(chunk, (error) => {
      out.off('close', onClose)
      if (error) reject(error)
      else resolve()
    })
  })
}
