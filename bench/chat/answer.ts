import { cpuOf, median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'
import { spentOn } from '../support/spent.ts'
import { type Nginx, NO_NGINX, startNginx } from '../yardsticks/nginx.ts'
import { NO_PORTKEY, startPortkey } from '../yardsticks/portkey.ts'
import { chat, chatLoad, startChatService, startUpstream, type Upstream } from './setup.ts'

const CALLERS = 64
const ROUNDS = 7
/** Of one round. */
const ANSWERS = 6000
/** Compilers take their time: until then an answer costs twice as much. */
const WARM_ANSWERS = 40_000

/** CPU for one plain answer of 500 bytes with key, validation, balance and committed usage, in rounds that alternate with the yardstick's. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const own = chatLoad(`${service.url}/v1`, service, false)
  try {
    await answer(own, WARM_ANSWERS)
    return [await againstNginx(upstream, service, own), await againstPortkey(upstream, service, own)]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

async function againstNginx(upstream: Upstream, service: BenchService, own: Target): Promise<Row> {
  const nginx = await startProxy(upstream)
  if (!nginx) return row(await compare(service, own, null), { name: NO_NGINX, times: 3.5, budget: '≤ 3.5 ×' })
  const theirs = { pid: nginx.pid, target: { ...own, url: `${nginx.url}/v1/chat/completions` } }
  try {
    const costs = await compare(service, own, theirs)
    return row(costs, { name: 'nginx proxy_pass', times: 3.5, budget: '≤ 3.5 ×' })
  } finally {
    await nginx.stop()
  }
}

async function againstPortkey(upstream: Upstream, service: BenchService, own: Target): Promise<Row> {
  const portkey = await startPortkey(upstream)
  if (!portkey) return row(await compare(service, own, null), { name: NO_PORTKEY, times: 1 / 7, budget: '≤ 1/7' })
  const url = `${portkey.url}/chat/completions`
  const target = { ...own, url, headers: { ...own.headers, ...portkey.headers } }
  try {
    await answer(target, WARM_ANSWERS / 2)
    const costs = await compare(service, own, { pid: portkey.pid, target })
    return row(costs, { name: "Portkey's gateway", times: 1 / 7, budget: '≤ 1/7' })
  } finally {
    await portkey.stop()
  }
}

/** nginx in front of the model server, with connections kept. */
export function startProxy(upstream: Upstream, more = ''): Promise<Nginx | null> {
  const { origin } = new URL(upstream.url)
  return startNginx(`proxy_pass ${origin}; proxy_http_version 1.1; proxy_set_header Connection ""; ${more}`)
}

type Target = ReturnType<typeof chatLoad>
type Costs = Record<'node' | 'postgres' | 'theirs', number[]>

function answer(target: Target, answers: number) {
  return chat({ ...target, callers: CALLERS, amount: { answers } })
}

async function compare(
  service: BenchService,
  own: Target,
  other: { pid: number; target: Target } | null,
): Promise<Costs> {
  const costs: Costs = { node: [], postgres: [], theirs: [] }
  for (let round = 0; round < ROUNDS; round++) {
    if (other) {
      const before = cpuOf(other.pid)
      await answer(other.target, ANSWERS)
      costs.theirs.push((cpuOf(other.pid) - before) / ANSWERS)
    }
    const { spent } = await spentOn(service, () => answer(own, ANSWERS))
    costs.node.push(spent.node / ANSWERS)
    costs.postgres.push(spent.postgres / ANSWERS)
  }
  return costs
}

function row(costs: Costs, yardstick: { name: string; times: number; budget: string }): Row {
  const own = median(costs.node)
  const other = costs.theirs.length > 0 ? median(costs.theirs) : null
  return {
    name: 'Chat, plain answer of 500 bytes',
    figure: `${own.toFixed(1)} + ${median(costs.postgres).toFixed(1)} µs CPU (Node + PostgreSQL)`,
    yardstick: other === null ? yardstick.name : `${yardstick.name} ${other.toFixed(1)} µs`,
    ratio: other === null ? '—' : (own / other).toFixed(2),
    budget: yardstick.budget,
    ok: other === null || own <= yardstick.times * other,
  }
}
