import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { WrittenFile } from '../../../platform/db/copy/written-file.ts'
import { CommandError } from '../command.ts'
import { BLOBS } from './manifest.ts'

/** Files copied or read at a time. */
const CONCURRENCY = 4

/** A blob as a row names it. */
export type NamedBlob = { key: string; sha256: string; size_bytes: number }

/** Where the backup `dir` has a blob. Throws CommandError for what is no key, so that a list cannot name other files. */
export function blobFile(dir: string, key: string): string {
  if (!/^[0-9a-f]{32}$/.test(key))
    throw new CommandError(`The list of files in ${dir} is damaged: ${JSON.stringify(key)}.`)
  return join(dir, BLOBS, key.slice(0, 2), key)
}

/**
 * Calls `use` for each line of a list of blobs, some at a time, without holding the list. Throws the first error, once nothing is in progress
 * any more: what follows may empty the directory that the others write to.
 */
export async function eachBlob(list: string, use: (blob: NamedBlob) => Promise<void>): Promise<void> {
  const input = createReadStream(list)
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]()
  const errors: unknown[] = []
  const work = async () => {
    for (let line = await lines.next(); !line.done && errors.length === 0; line = await lines.next()) {
      const [key = '', sha256 = '', size = ''] = line.value.split('\t')
      await use({ key, sha256, size_bytes: Number(size) }).catch((error: unknown) => errors.push(error))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  input.destroy()
  if (errors.length > 0) throw errors[0]
}

/** Whether a file has exactly these bytes; false for one that is not there. */
export async function isIntact(path: string, { sha256, size_bytes }: WrittenFile): Promise<boolean> {
  const hash = createHash('sha256')
  let read = 0
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      read += chunk.length
      if (read > size_bytes) return false
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
  return read === size_bytes && hash.digest('hex') === sha256
}

/** Makes directories of mode 0700, each once. */
export function directories(): (path: string) => Promise<void> {
  const made = new Map<string, Promise<void>>()
  return (path) => {
    const known = made.get(path)
    if (known) return known
    const making = mkdir(path, { recursive: true, mode: 0o700 }).then(() => undefined)
    made.set(path, making)
    return making
  }
}

/** Makes the names in the directories survive a power cut, and those of the directories themselves in theirs. */
export async function syncTree(root: string, below: Iterable<string>): Promise<void> {
  for (const name of below) await syncDirectory(join(root, name))
  await syncDirectory(root)
  await syncDirectory(dirname(root))
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
