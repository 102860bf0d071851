import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cpuOf, median, memoryOf } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { NO_NGINX, startNginx } from '../yardsticks/nginx.ts'
import { caller } from './create.ts'
import { endedJob } from './poll.ts'

const GB = 1e9
const SIZE = 1024 * 1024 * 1024
const RANGE = 64 * 1024 * 1024
const ROUNDS = 3
const READ = 2 * SIZE
/** More memory than this after a gigabyte would mean that it grows with the file. */
const GROWTH_MB = 64
const KEY = '00000000000000000000000000000b17'

/** A gigabyte clip read by ranges of 64 MiB, against nginx sending the same file with `sendfile off`. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  const path = writeBlob(service)
  const nginx = await startNginx(`sendfile off; root ${dirname(dirname(path))}; default_type video/mp4;`)
  try {
    const url = await giveClip(service)
    const { authorization } = caller(service) as { authorization: string }
    await read(url, RANGE, authorization)
    const before = memoryOf(service.pid)
    const own = await medianRate(service.pid, url, authorization)
    const after = memoryOf(service.pid)
    const yardstick = nginx
      ? await medianRate(nginx.pid, `${nginx.url}/${KEY.slice(0, 2)}/${KEY}`, authorization)
      : null
    return [row(own, yardstick), memoryRow(before.now, after.peak)]
  } finally {
    await nginx?.stop()
    await service.stop()
    rmSync(path, { force: true })
  }
}

function row(own: number, nginx: number | null): Row {
  return {
    name: 'MP4 content with ranges',
    figure: `${own.toFixed(2)} GB per CPU second`,
    yardstick: nginx === null ? NO_NGINX : `nginx static, sendfile off: ${nginx.toFixed(2)}`,
    ratio: nginx === null ? '—' : (own / nginx).toFixed(2),
    budget: nginx === null ? '≥ 2 (half of 4)' : '≥ 0.5 × nginx',
    ok: own >= (nginx ?? 4) / 2,
  }
}

function memoryRow(before: number, peak: number): Row {
  return {
    name: 'MP4 content, resident memory over 6 GB read',
    figure: `${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB`,
    yardstick: '—',
    ratio: '—',
    budget: `independent of size: ≤ ${GROWTH_MB} MB more`,
    ok: peak - before <= GROWTH_MB,
  }
}

async function medianRate(pid: number, url: string, authorization: string): Promise<number> {
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(pid)
    await read(url, READ, authorization)
    rates.push(READ / GB / ((cpuOf(pid) - before) / 1e6))
  }
  return median(rates)
}

async function read(url: string, total: number, authorization: string): Promise<void> {
  const script = join(import.meta.dirname, 'content-reader.ts')
  const args = [script, url, String(SIZE), String(RANGE), String(total), authorization]
  const [code] = await once(spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  if (code !== 0) throw new Error(`reading ${url} failed`)
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
