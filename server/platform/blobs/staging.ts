import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { open, opendir, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { randomHex } from '../ids.ts'
import { BlobMissing, BlobTooLarge, DiskFull, type StagedBlob } from './blobs.ts'

export type Limits = { max_bytes: number; signal?: AbortSignal | undefined }

/** Files of `dir` that are written but not kept yet: `stage`, `discard` and `sweepStaged` of blobs. */
export type Staging = {
  stage(source: AsyncIterable<Uint8Array>, limits: Limits): Promise<StagedBlob>
  discard(temp: string): Promise<void>
  path(temp: string): string
  sweep(older_than: Date): Promise<number>
}

/** Makes the directory. */
export function openStaging(dir: string): Staging {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = (temp: string) => join(dir, checkedName(temp))
  return {
    path,
    async stage(source, limits) {
      const temp = newName()
      try {
        return { temp, ...(await spool(source, path(temp), limits)) }
      } catch (error) {
        await rm(path(temp), { force: true })
        throw asDiskFull(error)
      }
    },
    discard: async (temp) => void (await removeFile(path(temp))),
    async sweep(older_than) {
      let count = 0
      for await (const { key } of filesBefore(dir, older_than)) if (await removeFile(join(dir, key))) count += 1
      return count
    },
  }
}

export function newName(): string {
  return randomHex(16)
}

/** A name from a row can only ever mean a file of ours. */
export function checkedName(name: string): string {
  if (!isName(name)) throw new BlobMissing(`not a blob key: ${JSON.stringify(name)}`)
  return name
}

export function isName(name: string): boolean {
  return /^[0-9a-f]{32}$/.test(name)
}

/** Whether there was one. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if (isMissingFile(error)) return false
    throw error
  }
}

/** Those of our names: a file system or an administrator may have put others beside them. */
export async function* filesBefore(dir: string, olderThan: Date): AsyncIterable<{ key: string; size_bytes: number }> {
  for await (const { name } of await opendir(dir)) {
    if (!isName(name)) continue
    const facts = await stat(join(dir, name)).catch(nullIfRemoved)
    if (facts && facts.mtime < olderThan) yield { key: name, size_bytes: facts.size }
  }
}

function nullIfRemoved(error: unknown): null {
  if (isMissingFile(error)) return null
  throw error
}

export function missing(error: unknown): never {
  throw isMissingFile(error) ? new BlobMissing('no such blob', { cause: error }) : error
}

export function isMissingFile(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

export function asDiskFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' ? new DiskFull('no space left for files', { cause: error }) : error
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
