import { renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Loaded into the service by `--import <this file>?file=<path>`: writes the bytes of its heap in use to `<path>.<process id>`, once a second. */
const file = `${new URL(import.meta.url).searchParams.get('file')}.${process.pid}`

if (isMainThread) setInterval(write, 1000).unref()

/** In one step, so that a reader never sees half of it. */
function write(): void {
  writeFileSync(`${file}.new`, String(process.memoryUsage().heapUsed))
  renameSync(`${file}.new`, file)
}
