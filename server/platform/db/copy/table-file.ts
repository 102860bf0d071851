import { createReadStream } from 'node:fs'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type pg from 'pg'
import { readRows, writeRows } from './table.ts'
import { copyToFile, type WrittenFile } from './written-file.ts'

/** Rows are text that compresses well; the first level costs least and saves most. */
const GZIP = { level: 1 }

/**
 * Writes what `from`, a table or a query in parentheses, selects to a new file of mode 0600, in the form of PostgreSQL's COPY, compressed if
 * `gzip`. Holds no more than a few chunks in memory. The file is on the disk once resolved. The client must be doing nothing else.
 */
export async function rowsToFile(
  client: pg.ClientBase,
  from: string,
  { path, gzip }: { path: string; gzip: boolean },
): Promise<WrittenFile> {
  const rows = gzip ? createGzip(GZIP) : new PassThrough()
  const written = copyToFile(rows, path)
  // Awaited below; a file that cannot be written ends the reading.
  written.catch(() => rows.destroy())
  try {
    const batches = collect((batch) => !rows.destroyed && rows.write(batch))
    await readRows(client, from, (chunk) => (batches.add(chunk) || rows.destroyed ? null : rows))
    batches.flush()
    rows.end()
    return await written
  } finally {
    rows.destroy()
  }
}

const BATCH_BYTES = 256 * 1024

/** The server sends every row by itself: they are copied together before they are passed on. `add` and `flush` return what `write` did, or true. */
function collect(write: (batch: Buffer) => boolean): { add(chunk: Buffer): boolean; flush(): boolean } {
  let batch = Buffer.allocUnsafe(BATCH_BYTES)
  let used = 0
  const flush = () => {
    if (used === 0) return true
    const full = batch.subarray(0, used)
    batch = Buffer.allocUnsafe(BATCH_BYTES)
    used = 0
    return write(full)
  }
  return {
    add(chunk) {
      const room = used + chunk.length <= BATCH_BYTES || flush()
      if (chunk.length > BATCH_BYTES) return write(Buffer.from(chunk)) && room
      used += chunk.copy(batch, used)
      return room
    },
    flush,
  }
}

/** Loads what `rowsToFile` wrote, compressed, `into` a table, written as `table (columns)`. */
export async function fileToRows(client: pg.ClientBase, into: string, path: string): Promise<void> {
  const source = createReadStream(path)
  const rows = createGunzip()
  const read = pipeline(source, rows)
  read.catch(() => {})
  await writeRows(client, into, rows)
  await read
}
