import { once } from 'node:events'
import { close, createReadStream, fstat, open as openFile, read } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { StartError } from '../start-error.ts'
import { type BlobMark, BlobMissing, type Blobs, type ByteRange } from './blobs.ts'
import { parseMark } from './mark.ts'
import { CHUNK_BYTES, type ReadBuffers, readBuffers } from './read-buffers.ts'
import {
  asDiskFull,
  checkedName,
  filesBefore,
  isMissingFile,
  missing,
  newName,
  openStaging,
  removeFile,
} from './staging.ts'
import { writeFully } from './write-fully.ts'

/** Without the objects that `node:fs/promises` puts around a file. */
const openAsync = promisify(openFile)
const readAsync = promisify(read)
const fstatAsync = promisify(fstat)

/** Where the reverse proxy has the directory of blobs, for itself alone. Source: docs/operating/proxies.md. */
const PROXY_LOCATION = '/kinora-blobs'

/**
 * Blobs as files of `root`, spread over directories by the first two letters of their random keys. `proxied`: a reverse proxy reads that
 * directory too.
 */
export function diskBlobs(root: string, { proxied = false }: { proxied?: boolean } = {}): Blobs {
  const staging = openStaging(join(root, 'staging'))
  const directories = directoryTurns(root)
  const buffers = readBuffers()
  const publish = (temp: string, key?: string) =>
    key === undefined ? publishInto(directories(), root, staging.path(temp)) : publishAs(key, root, staging.path(temp))
  return {
    stage: staging.stage,
    publish: ({ temp }, key) => publish(temp, key),
    discard: async ({ temp }) => staging.discard(temp),
    async write(source, limits) {
      const { temp, ...facts } = await staging.stage(source, limits)
      return { key: await publish(temp), ...facts }
    },

    async open(key, range) {
      const stream = createReadStream(keyPath(root, key), { highWaterMark: CHUNK_BYTES, ...range })
      await once(stream, 'open').catch(missing)
      return stream
    },
    async send(key, range, out) {
      const fd = await openAsync(keyPath(root, key), 'r').catch(missing)
      try {
        await copy(fd, range ?? { start: 0, end: (await fstatAsync(fd)).size - 1 }, out, buffers)
      } finally {
        // Nothing was written, so nobody waits for it.
        close(fd, () => {})
      }
    },
    proxyPath: proxied
      ? async (key) => {
          await stat(keyPath(root, key)).catch(missing)
          return `${PROXY_LOCATION}/${relativePath(key)}`
        }
      : null,
    presignedUrl: null,
    size: async (key) => (await stat(keyPath(root, key)).catch(missing)).size,
    async withLocalFile(blob, use) {
      const path = typeof blob === 'string' ? keyPath(root, blob) : staging.path(blob.temp)
      await stat(path).catch(missing)
      return use(path)
    },

    remove: async (key) => removeFile(keyPath(root, key)),
    async *list({ older_than }) {
      for await (const { name } of await opendir(root)) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        for await (const file of filesBefore(join(root, name), older_than)) if (file.key.startsWith(name)) yield file
      }
    },
    sweepStaged: ({ older_than }) => staging.sweep(older_than),
    // Whoever asks has staged something just now, which is the same disk.
    check: async () => {},

    also_reads: false,
    mark: () => readMark(join(root, MARK)),
    setMark: (mark) => writeMark(root, mark),
  }
}

/** Which installation the blobs below belong to. */
const MARK = 'installation.json'

async function readMark(path: string): Promise<BlobMark | null> {
  try {
    const mark = parseMark(await readFile(path, 'utf8'))
    if (mark) return mark
  } catch (error) {
    if (isMissingFile(error)) return null
    throw error
  }
  throw new StartError(`${path} cannot be read. Restore it from a backup, or run 'kinora admin database adopt'.`)
}

async function writeMark(root: string, mark: BlobMark): Promise<void> {
  const draft = join(root, `${MARK}.${process.pid}`)
  await writeFile(draft, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true })
  await rename(draft, join(root, MARK))
  await sync(root)
}

/** A directory that takes new blobs until its turn to be flushed comes; `flushed` settles when their names survive a power cut. */
type Directory = { prefix: string; arriving: Promise<unknown>[]; flushed: Promise<void> }

/** Directories are flushed one at a time: blobs published meanwhile go into the next one together, and share its flush. */
function directoryTurns(root: string): () => Directory {
  let current: Directory | null = null
  let last: Promise<unknown> = Promise.resolve()
  const flushNext = async (before: Promise<unknown>, directory: Directory) => {
    await before
    current = null
    await Promise.allSettled(directory.arriving)
    await sync(join(root, directory.prefix))
  }
  return () => {
    if (current) return current
    const directory = { prefix: newName().slice(0, 2), arriving: [], flushed: Promise.resolve() }
    directory.flushed = flushNext(last, directory)
    last = directory.flushed.catch(() => {})
    current = directory
    return directory
  }
}

async function publishInto({ prefix, arriving, flushed }: Directory, root: string, staged: string): Promise<string> {
  const key = prefix + newName().slice(prefix.length)
  const path = keyPath(root, key)
  try {
    const moved = move(root, staged, path)
    arriving.push(moved)
    await moved
    await flushed
    return key
  } catch (error) {
    await Promise.all([rm(staged, { force: true }), rm(path, { force: true })])
    throw asDiskFull(error)
  }
}

/** Flushed by itself: its directory is given. */
async function publishAs(key: string, root: string, staged: string): Promise<string> {
  const path = keyPath(root, key)
  try {
    await move(root, staged, path)
    await sync(dirname(path))
    return key
  } catch (error) {
    await rm(staged, { force: true })
    throw asDiskFull(error)
  }
}

async function move(root: string, from: string, to: string): Promise<void> {
  // Its bytes were flushed when it was staged.
  await rename(from, to).catch(async (error: unknown) => {
    if (!isMissingFile(error)) throw error
    await stat(from)
    if ((await mkdir(dirname(to), { recursive: true, mode: 0o700 })) !== undefined) await sync(root)
    await rename(from, to)
  })
}

function keyPath(root: string, key: string): string {
  return join(root, relativePath(key))
}

function relativePath(key: string): string {
  return `${checkedName(key).slice(0, 2)}/${key}`
}

/** Makes a directory's names survive a power cut. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Through buffers that are used again and again, which copies twice as fast as a piped stream. */
async function copy(fd: number, { start, end }: ByteRange, out: Writable, buffers: ReadBuffers): Promise<void> {
  for (let position = start; position <= end; ) {
    const buffer = buffers.take(end - position + 1)
    let idle = false
    try {
      const length = Math.min(buffer.length, end - position + 1)
      const { bytesRead } = await readAsync(fd, buffer, 0, length, position)
      if (bytesRead === 0) throw new BlobMissing('shorter than its range')
      await writeFully(out, buffer.subarray(0, bytesRead))
      position += bytesRead
      idle = true
    } finally {
      buffers.give(buffer, idle)
    }
  }
}
