import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf } from '../support/cpu.ts'
import { fire } from '../support/load.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { BENCH_CONFIG, type BenchService, caller, httpProcesses, startService } from '../support/service.ts'
import { startBareServer } from '../yardsticks/bare/start.ts'
import { NO_NGINX, startNginxProxy } from '../yardsticks/nginx.ts'
import { BODY } from './create.ts'

const CALLERS = 16
/** Of one round. */
const POLLS = amountOf(10_000)

/**
 * CPU of the service's Node process for one poll of one job, answered 200 and 304; and of the HTTP processes of one that has two, each of
 * which asks the database whether the job has changed.
 */
export async function run(): Promise<Row[]> {
  const service = await startService({ pinned: true })
  const several = await startService({ pinned: true, config: `${BENCH_CONFIG}workers: 2\n` })
  const bare = await startBareServer('server')
  const fastify = await startBareServer('fastify')
  const nginx = await startNginxProxy(bare)
  try {
    const { url, etag } = await endedJob(service)
    const headers = caller(service)
    const other = await endedJob(several)
    const polled = await alternate(
      {
        bare: costOf({ pids: [bare.pid], url: bare.url, headers }),
        nginx: nginx && costOf({ pids: [nginx.pid], url: nginx.url, headers }),
        fastify: costOf({ pids: [fastify.pid], url: fastify.url, headers }),
        own: costOf({ pids: [service.pid], url, headers }),
        unchanged: costOf({ pids: [service.pid], url, headers: { ...headers, 'if-none-match': etag } }),
        several: costOf({ pids: httpProcesses(several), url: other.url, headers: caller(several) }),
      },
      { count: POLLS },
    )
    // Fastify's limit stands in where there is no nginx.
    const yardsticks = [
      { name: 'bare Node', rounds: polled.bare, ratio_limit: 1.3 },
      { name: 'nginx proxy_pass', rounds: nginx ? polled.nginx : { missing: NO_NGINX }, ratio_limit: 3.5 },
      { name: 'bare Fastify', rounds: polled.fastify, ...(!nginx && { ratio_limit: 2 }) },
    ]
    const unit = 'µs CPU'
    return [
      rowOf({ name: 'GET /v1/videos/{id}, Node', unit, rounds: polled.own, yardsticks }),
      rowOf({ name: 'GET /v1/videos/{id}, 304, Node', unit, rounds: polled.unchanged, yardsticks }),
      rowOf({
        name: 'GET /v1/videos/{id}, one of two processes, Node',
        unit,
        rounds: polled.several,
        yardsticks: [{ name: 'the only process', rounds: polled.own }],
      }),
    ]
  } finally {
    await nginx?.stop()
    await fastify.stop()
    await bare.stop()
    await several.stop()
    await service.stop()
  }
}

/** CPU for each answer. */
function costOf({ pids, url, headers }: { pids: number[]; url: string; headers: Record<string, string> }) {
  const spent = () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  return async (requests: number): Promise<number> => {
    const before = spent()
    const { answers } = await fire({ url, headers, callers: CALLERS, amount: { requests } })
    return (spent() - before) / answers
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
