import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf, median } from '../support/cpu.ts'
import { fire } from '../support/load.ts'
import type { Row } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { NO_NGINX, startNginx } from '../yardsticks/nginx.ts'
import { BODY, caller } from './create.ts'

const CALLERS = 16
const SECONDS = 3
const ROUNDS = 3
/** A poll must be cheaper than a plain chat answer, whose own budget is this many times nginx. */
const NGINX_TIMES = 3.5
/** The same where there is no nginx: times a bare Fastify route. */
const BARE_TIMES = 2

/** CPU of the service's Node process for one poll of one job, answered 200 and 304. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  const bare = spawn(process.execPath, [join(import.meta.dirname, '..', 'yardsticks', 'bare-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const bareUrl = `http://127.0.0.1:${(await once(bare.stdout!, 'data')).toString().trim()}/`
  const nginx = await startNginx(`proxy_pass ${bareUrl}; proxy_http_version 1.1; proxy_set_header Connection "";`)
  try {
    const { url, etag } = await endedJob(service)
    const headers = caller(service)
    await fire({ url, headers, callers: CALLERS, amount: { seconds: SECONDS } })
    const polled = await medianCost(service.pid, url, headers)
    const unchanged = await medianCost(service.pid, url, { ...headers, 'if-none-match': etag })
    const plain = await medianCost(bare.pid!, bareUrl, headers)
    const proxied = nginx ? await medianCost(nginx.pid, nginx.url, headers) : null
    return [
      row('GET /v1/videos/{id}', polled, plain, proxied),
      row('GET /v1/videos/{id}, 304', unchanged, plain, proxied),
    ]
  } finally {
    await nginx?.stop()
    await stop(bare)
    await service.stop()
  }
}

function row(name: string, cost: number, bare: number, nginx: number | null): Row {
  const yardstick = nginx ?? bare
  const times = nginx === null ? BARE_TIMES : NGINX_TIMES
  return {
    name,
    figure: `${cost.toFixed(0)} µs CPU`,
    yardstick: `nginx proxy_pass ${nginx?.toFixed(0) ?? NO_NGINX}, bare Fastify ${bare.toFixed(0)} µs`,
    ratio: (cost / yardstick).toFixed(2),
    budget: `≤ ${times} × ${nginx === null ? 'bare Fastify' : 'nginx'}, as chat`,
    ok: cost <= times * yardstick,
  }
}

/** Submits a job, waits for its end, and returns its address and entity tag. */
export async function endedJob(service: BenchService): Promise<{ id: string; url: string; etag: string }> {
  const headers = caller(service)
  const created = await fetch(`${service.url}/v1/videos`, { method: 'POST', headers, body: BODY })
  const { id } = (await created.json()) as { id: string }
  const url = `${service.url}/v1/videos/${id}`
  for (;;) {
    const answer = await fetch(url, { headers })
    const { status } = (await answer.json()) as { status: string }
    if (status === 'completed') return { id, url, etag: answer.headers.get('etag')! }
    await sleep(50)
  }
}

async function medianCost(pid: number, url: string, headers: Record<string, string>): Promise<number> {
  const costs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(pid)
    const { answers } = await fire({ url, headers, callers: CALLERS, amount: { seconds: SECONDS } })
    costs.push((cpuOf(pid) - before) / answers)
  }
  return median(costs)
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}
