import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

/** A file as it was written; `sha256` in lower-case hex. */
export type WrittenFile = { sha256: string; size_bytes: number }

/** Copies a stream to a new file of mode 0600, which is on the disk once resolved. Rejects with the stream's error, or that of the file. */
export async function copyToFile(source: AsyncIterable<Uint8Array>, path: string): Promise<WrittenFile> {
  const file = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let size_bytes = 0
  try {
    for await (const chunk of source) {
      hash.update(chunk)
      size_bytes += chunk.length
      for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
    }
    await file.sync()
    return { sha256: hash.digest('hex'), size_bytes }
  } finally {
    await file.close()
  }
}
