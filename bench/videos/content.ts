import { chmodSync, closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { outputOf, spawnNode } from '../support/child.ts'
import { cpuOf, memoryOf } from '../support/cpu.ts'
import { alternate, QUICK, WARM } from '../support/rounds.ts'
import { type Rounds, type Row, rowOf } from '../support/row.ts'
import { type BenchService, caller, startService } from '../support/service.ts'
import { NO_NGINX, startNginx } from '../yardsticks/nginx.ts'
import { endedJob } from './poll.ts'

const GB = 1e9
const SIZE = 1024 * 1024 * 1024
/** How the clip is read: in large ranges, as whole as makes no difference, and in ranges as a player asks for. */
const READS = [
  { name: 'MP4 content, whole', range: 64 * 1024 * 1024, ratio_limit: 0.7 },
  { name: 'MP4 content, ranges of 1 MB', range: 1024 * 1024, ratio_limit: 0.5 },
]
/** As many small ranges as any other answer is warmed up with. */
const WARM_READ = WARM * 1024 * 1024
/** Bytes of one round. */
const READ = QUICK ? SIZE / 8 : 2 * SIZE
/** More memory than this after a gigabyte would mean that it grows with the file. */
const GROWTH_MB = 64
const KEY = '00000000000000000000000000000b17'

/** A gigabyte clip read by ranges, against nginx sending the same file with `sendfile off`. */
export async function run(): Promise<Row[]> {
  const service = await startService({ pinned: true })
  const path = writeBlob(service)
  const nginx = await startNginx(`sendfile off; root ${dirname(dirname(path))}; default_type video/mp4;`)
  try {
    const url = await giveClip(service)
    const authorization = caller(service).authorization!
    const file = nginx && { pid: nginx.pid, url: `${nginx.url}/${KEY.slice(0, 2)}/${KEY}` }
    const [whole, ranges] = READS as [ContentRead, ContentRead]
    const rowOfRead = async ({ name, range, ratio_limit }: ContentRead) => {
      const readerOf = (server: { pid: number; url: string }) => (bytes: number) =>
        rateOf(server, { range, bytes, authorization })
      const contenders = { own: readerOf({ pid: service.pid, url }), nginx: file && readerOf(file) }
      const rates = await alternate(contenders, { warm: WARM_READ, count: READ })
      return rateRow(name, { own: rates.own, nginx: nginx ? rates.nginx : { missing: NO_NGINX } }, ratio_limit)
    }
    // The small ranges first: their 20,000 requests are the warm-up of the service, and its memory has settled after them.
    const small = await rowOfRead(ranges)
    const before = memoryOf(service.pid).now
    const large = await rowOfRead(whole)
    return [large, small, memoryRow(before, memoryOf(service.pid).peak)]
  } finally {
    await nginx?.stop()
    await service.stop()
    rmSync(path, { force: true })
  }
}

type ContentRead = (typeof READS)[number]

function rateRow(name: string, { own, nginx }: { own: number[]; nginx: Rounds }, ratio_limit: number): Row {
  return rowOf({
    name,
    unit: 'GB per CPU second',
    better: 'higher',
    rounds: own,
    // What half of nginx was where the budget was set.
    ...('missing' in nginx && { limit: 2 }),
    yardsticks: [{ name: 'nginx, sendfile off', rounds: nginx, ratio_limit }],
  })
}

function memoryRow(before: number, peak: number): Row {
  return rowOf({
    name: 'MP4 content, resident memory of Node, at most',
    unit: 'MB',
    rounds: [peak],
    yardsticks: [{ name: 'before', rounds: [before], difference_limit: GROWTH_MB }],
  })
}

/** GB for each second of CPU. */
async function rateOf(
  server: { pid: number; url: string },
  { range, bytes, authorization }: { range: number; bytes: number; authorization: string },
): Promise<number> {
  const before = cpuOf(server.pid)
  await read(server.url, { range, bytes, authorization })
  return bytes / GB / ((cpuOf(server.pid) - before) / 1e6)
}

async function read(
  url: string,
  { range, bytes, authorization }: { range: number; bytes: number; authorization: string },
): Promise<void> {
  const script = join(import.meta.dirname, 'content-reader.ts')
  await outputOf(spawnNode([script, url, String(SIZE), String(range), String(bytes), authorization], 'generator'))
}

/** A gigabyte where the service keeps its blobs, in the page cache of both servers. */
function writeBlob({ dir }: BenchService): string {
  const home = join(dir, 'data', 'blobs', KEY.slice(0, 2))
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const path = join(home, KEY)
  const file = openSync(path, 'w', 0o600)
  const part = Buffer.alloc(16 * 1024 * 1024, 7)
  for (let done = 0; done < SIZE; done += part.length) writeSync(file, part)
  closeSync(file)
  chmodSync(path, 0o644)
  return path
}

/** A completed job whose clip is that blob. */
async function giveClip(service: BenchService): Promise<string> {
  const { id, url } = await endedJob(service)
  const values = [id, KEY, 'b'.repeat(64), SIZE]
  await service.pool.query(
    'update video_jobs set blob_key = $2, output_sha256 = $3, output_size_bytes = $4 where id = $1',
    values,
  )
  await new Promise((resolve) => setTimeout(resolve, 1100))
  return `${url}/content`
}
