import type { Readable, Writable } from 'node:stream'

/** Bytes that are written but not kept yet: `discard` them, or `publish` them once they have passed inspection. */
export type StagedBlob = { temp: string; sha256: string; size_bytes: number }

export type StoredBlob = { key: string; sha256: string; size_bytes: number }

/** Bytes `start` to `end`, both included, counted from 0. */
export type ByteRange = { start: number; end: number }

/** Whose the blobs are; `paired` once that installation's database knows it; `partial` while others of its blobs are in another storage. */
export type BlobMark = { installation_id: string; paired: boolean; partial?: boolean }

/**
 * Where files live: immutable byte strings under random keys. `sha256` is lower-case hex. Where blobs are in a bucket, whatever needs it
 * throws BlobsAway when that cannot be reached or refuses.
 */
export type Blobs = {
  /**
   * Writes a stream aside. Nothing is left of it when the source fails, `signal` aborts, or it is longer than `max_bytes`.
   * Throws BlobTooLarge, DiskFull, the abort's reason, or the source's own error.
   */
  stage(source: AsyncIterable<Uint8Array>, options: { max_bytes: number; signal?: AbortSignal }): Promise<StagedBlob>
  /** Keeps it under a new key, or under `key` when it is copied from another storage; survives a power cut once resolved. Throws DiskFull. */
  publish(staged: StagedBlob, key?: string): Promise<string>
  /** Forgets it. Harmless after `publish` and when called twice. */
  discard(staged: StagedBlob): Promise<void>
  /** `stage` and `publish` in one. */
  write(source: AsyncIterable<Uint8Array>, options: { max_bytes: number; signal?: AbortSignal }): Promise<StoredBlob>

  /** Throws BlobMissing. */
  open(key: string, range?: ByteRange): Promise<Readable>
  /** Copies into `out` no faster than it drains and does not end it. Throws BlobMissing, or when `out` closes early. */
  send(key: string, range: ByteRange | null, out: Writable): Promise<void>
  /**
   * The URL path under which the reverse proxy may send a blob itself, or null for a blob that it does not have; null where the operator
   * has no such proxy. Throws BlobMissing.
   */
  proxyPath: ((key: string) => Promise<string | null>) | null
  /**
   * A URL under which whoever holds it reads the blob from the bucket itself, for a minute; null for a blob that is not there. Null where
   * nobody is to be sent there.
   */
  presignedUrl: ((key: string, answer: { media_type: string }) => Promise<string | null>) | null
  /** Throws BlobMissing. */
  size(key: string): Promise<number>
  /** Gives `use` a local path, to read only and only until it settles: probes and renderers want files. Throws BlobMissing. */
  withLocalFile<T>(blob: string | StagedBlob, use: (path: string) => Promise<T>): Promise<T>

  /** Whether there was one. */
  remove(key: string): Promise<boolean>
  /** Every blob whose last byte was written before `older_than`: the sweep compares them with the rows. */
  list(options: { older_than: Date }): AsyncIterable<{ key: string; size_bytes: number }>
  /** Removes what is staged and was last written before `older_than`. Returns how many. */
  sweepStaged(options: { older_than: Date }): Promise<number>

  /** Whether a blob could be stored now, after what `stage` finds out by itself. Throws BlobsAway. */
  check(): Promise<void>

  /** Whether blobs are looked for in a second storage, from which they are being moved. */
  also_reads: boolean
  /** Null: they were never marked. Throws StartError for a mark that cannot be read. */
  mark(): Promise<BlobMark | null>
  /** Replaces the mark atomically; survives a power cut once resolved. */
  setMark(mark: BlobMark): Promise<void>
}

/** The `older_than` of blobs of any age. */
export const ANY_AGE = new Date(8_640_000_000_000_000)

export class BlobTooLarge extends Error {
  override name = 'BlobTooLarge'
  readonly max_bytes: number
  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`)
    this.max_bytes = maxBytes
  }
}

/** No space or quota left: the service's trouble, not the client's. */
export class DiskFull extends Error {
  override name = 'DiskFull'
}

export class BlobMissing extends Error {
  override name = 'BlobMissing'
}

/**
 * The bucket does not answer, or refuses: the service's trouble, not the client's, and not for good, except where the blob is `damaged`: it has
 * other bytes than were written. Names neither host nor credential.
 */
export class BlobsAway extends Error {
  override name = 'BlobsAway'
  readonly damaged: boolean
  constructor(message: string, { damaged = false } = {}) {
    super(message)
    this.damaged = damaged
  }
}

/** Whether this is about one blob, which is gone or damaged, and not about the storage. A stream of a blob may throw it at its end. */
export function isLost(error: unknown): boolean {
  return error instanceof BlobMissing || (error instanceof BlobsAway && error.damaged)
}
