import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { close, createReadStream, fstat, mkdirSync, open as openFile, read } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable, type Writable } from 'node:stream'
import { promisify } from 'node:util'
import { randomHex } from '../ids.ts'
import { StartError } from '../start-error.ts'
import {
  type BlobMark,
  BlobMissing,
  type Blobs,
  BlobTooLarge,
  type ByteRange,
  DiskFull,
  type StagedBlob,
} from './blobs.ts'
import { CHUNK_BYTES, type ReadBuffers, readBuffers } from './read-buffers.ts'

/** Without the objects that `node:fs/promises` puts around a file. */
const openAsync = promisify(openFile)
const readAsync = promisify(read)
const fstatAsync = promisify(fstat)

type Limits = { max_bytes: number; signal?: AbortSignal | undefined }

/** Where the reverse proxy has the directory of blobs, for itself alone. Source: docs/operating.md, videos through nginx. */
const PROXY_LOCATION = '/kinora-blobs'

/**
 * Blobs as files of `root`, spread over directories by the first two letters of their random keys. `proxied`: a reverse proxy reads that
 * directory too.
 */
export function diskBlobs(root: string, { proxied = false }: { proxied?: boolean } = {}): Blobs {
  mkdirSync(stagingOf(root), { recursive: true, mode: 0o700 })
  const directories = directoryTurns(root)
  const buffers = readBuffers()
  const publish = (temp: string) => publishInto(directories(), root, temp)
  return {
    stage: (source, limits) => stage(root, source, limits),
    publish: ({ temp }) => publish(temp),
    discard: async ({ temp }) => void (await remove(tempPath(root, temp))),
    async write(source, limits) {
      const { temp, ...facts } = await stage(root, source, limits)
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
    size: async (key) => (await stat(keyPath(root, key)).catch(missing)).size,
    async withLocalFile(blob, use) {
      const path = typeof blob === 'string' ? keyPath(root, blob) : tempPath(root, blob.temp)
      await stat(path).catch(missing)
      return use(path)
    },

    remove: async (key) => remove(keyPath(root, key)),
    async *list({ older_than }) {
      for await (const dir of await opendir(root)) {
        if (dir.name.length === 2) yield* filesBefore(join(root, dir.name), older_than)
      }
    },
    async sweepStaged({ older_than }) {
      let count = 0
      for await (const { key } of filesBefore(stagingOf(root), older_than)) {
        if (await remove(join(stagingOf(root), key))) count += 1
      }
      return count
    },

    mark: () => readMark(join(root, MARK)),
    setMark: (mark) => writeMark(root, mark),
  }
}

/** Which installation the blobs below belong to. */
const MARK = 'installation.json'

async function readMark(path: string): Promise<BlobMark | null> {
  try {
    const { installation_id, paired } = JSON.parse(await readFile(path, 'utf8')) as BlobMark
    if (typeof installation_id === 'string' && typeof paired === 'boolean') return { installation_id, paired }
  } catch (error) {
    if (isMissing(error)) return null
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new StartError(`${path} cannot be read. Restore it from a backup, or run 'kinora admin database adopt'.`)
}

async function writeMark(root: string, mark: BlobMark): Promise<void> {
  const draft = join(root, `${MARK}.${process.pid}`)
  await writeFile(draft, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true })
  await rename(draft, join(root, MARK))
  await sync(root)
}

async function stage(root: string, source: AsyncIterable<Uint8Array>, limits: Limits): Promise<StagedBlob> {
  const temp = newName()
  try {
    return { temp, ...(await spool(source, tempPath(root, temp), limits)) }
  } catch (error) {
    await rm(tempPath(root, temp), { force: true })
    throw typed(error)
  }
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

async function publishInto({ prefix, arriving, flushed }: Directory, root: string, temp: string): Promise<string> {
  const key = prefix + newName().slice(prefix.length)
  const path = keyPath(root, key)
  try {
    const moved = move(root, tempPath(root, temp), path)
    arriving.push(moved)
    await moved
    await flushed
    return key
  } catch (error) {
    await Promise.all([rm(tempPath(root, temp), { force: true }), rm(path, { force: true })])
    throw typed(error)
  }
}

async function move(root: string, from: string, to: string): Promise<void> {
  // Its bytes were flushed when it was staged.
  await rename(from, to).catch(async (error: unknown) => {
    if (!isMissing(error)) throw error
    await stat(from)
    if ((await mkdir(dirname(to), { recursive: true, mode: 0o700 })) !== undefined) await sync(root)
    await rename(from, to)
  })
}

function stagingOf(root: string): string {
  return join(root, 'staging')
}

function tempPath(root: string, temp: string): string {
  return join(stagingOf(root), checked(temp))
}

/** Where `diskBlobs(root)` has a blob. Throws BlobMissing for what is no key. */
export function keyPath(root: string, key: string): string {
  return join(root, relativePath(key))
}

function relativePath(key: string): string {
  return `${checked(key).slice(0, 2)}/${key}`
}

async function remove(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function newName(): string {
  return randomHex(16)
}

/** A name from a row can only ever mean a file of ours. */
function checked(name: string): string {
  if (!/^[0-9a-f]{32}$/.test(name)) throw new BlobMissing(`not a blob key: ${JSON.stringify(name)}`)
  return name
}

async function spool(
  source: AsyncIterable<Uint8Array>,
  path: string,
  { max_bytes, signal }: Limits,
): Promise<Pick<StagedBlob, 'sha256' | 'size_bytes'>> {
  const readable = source instanceof Readable ? source : Readable.from(source, { objectMode: true })
  signal?.throwIfAborted()
  if (signal) addAbortSignal(signal, readable)
  const handle = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let size = 0
  try {
    for await (const chunk of readable as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength
      if (size > max_bytes) throw new BlobTooLarge(max_bytes)
      hash.update(chunk)
      for (let done = 0; done < chunk.byteLength; ) done += (await handle.write(chunk, done)).bytesWritten
    }
    await handle.sync()
    return { sha256: hash.digest('hex'), size_bytes: size }
  } catch (error) {
    throw signal?.aborted ? signal.reason : error
  } finally {
    await handle.close()
  }
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

/** One buffer, used again and again, copies twice as fast as a piped stream. */
async function copy(fd: number, { start, end }: ByteRange, out: Writable, buffers: ReadBuffers): Promise<void> {
  const buffer = buffers.take(end - start + 1)
  let position = start
  try {
    while (position <= end) {
      const length = Math.min(buffer.length, end - position + 1)
      const { bytesRead } = await readAsync(fd, buffer, 0, length, position)
      if (bytesRead === 0) throw new BlobMissing('shorter than its range')
      await writeFully(out, buffer.subarray(0, bytesRead))
      position += bytesRead
    }
  } finally {
    buffers.give(buffer, position > end)
  }
}

/** Resolves when `out` no longer needs the bytes, so that their buffer can be used again. */
function writeFully(out: Writable, chunk: Uint8Array): Promise<void> {
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

async function* filesBefore(dir: string, olderThan: Date): AsyncIterable<{ key: string; size_bytes: number }> {
  for await (const { name } of await opendir(dir)) {
    const facts = await stat(join(dir, name)).catch(() => null)
    if (facts && facts.mtime < olderThan) yield { key: name, size_bytes: facts.size }
  }
}

function missing(error: unknown): never {
  throw isMissing(error) ? new BlobMissing('no such blob', { cause: error }) : error
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function typed(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' ? new DiskFull('no space left for files', { cause: error }) : error
}
