import { chat, chatLoad, startChatService, startUpstream, type Upstream } from './chat-setting.ts'
import { cpuOf, median } from './cpu.ts'
import { type Nginx, NO_NGINX, startNginx } from './nginx.ts'
import { NO_PORTKEY, startPortkey } from './portkey.ts'
import type { Row } from './row.ts'
import type { BenchService } from './service.ts'
import { spentOn } from './spent.ts'

const CALLERS = 64
const ROUNDS = 5
const SECONDS = 2
/** Compilers take their time: until then an answer costs twice as much. */
const WARM_ANSWERS = 20_000

/** CPU for one plain answer of 500 bytes with key, validation, balance and committed usage. Every server is asked in every round. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const nginx = await startProxy(upstream)
  const portkey = await startPortkey(upstream)
  try {
    const own = chatLoad(`${service.url}/v1`, service, false)
    const proxied = nginx && { ...own, url: `${nginx.url}/v1/chat/completions` }
    const theirs = portkey && {
      ...chatLoad(portkey.url, service, false),
      headers: { ...own.headers, ...portkey.headers },
    }
    const costs: Costs = { node: [], postgres: [], nginx: [], portkey: [] }
    const load = { callers: CALLERS, amount: { answers: WARM_ANSWERS } }
    for (const each of [own, proxied, theirs]) if (each) await chat({ ...each, ...load })
    for (let round = 0; round < ROUNDS; round++) {
      await measureOwn(service, own, costs)
      if (proxied) costs.nginx.push(await costOf(nginx.pid, proxied))
      if (theirs) costs.portkey.push(await costOf(portkey.pid, theirs))
    }
    return rows(costs)
  } finally {
    await portkey?.stop()
    await nginx?.stop()
    await service.stop()
    await upstream.stop()
  }
}

/** nginx in front of the model server, with connections kept. */
export function startProxy(upstream: Upstream, more = ''): Promise<Nginx | null> {
  const { origin } = new URL(upstream.url)
  return startNginx(`proxy_pass ${origin}; proxy_http_version 1.1; proxy_set_header Connection ""; ${more}`)
}

type Costs = Record<'node' | 'postgres' | 'nginx' | 'portkey', number[]>
type Target = ReturnType<typeof chatLoad>

async function measureOwn(service: BenchService, target: Target, costs: Costs): Promise<void> {
  const load = { ...target, callers: CALLERS, amount: { seconds: SECONDS } }
  const { result, spent } = await spentOn(service, () => chat(load))
  costs.node.push(spent.node / result.answers)
  costs.postgres.push(spent.postgres / result.answers)
}

async function costOf(pid: number, target: Target): Promise<number> {
  const before = cpuOf(pid)
  const { answers } = await chat({ ...target, callers: CALLERS, amount: { seconds: SECONDS } })
  return (cpuOf(pid) - before) / answers
}

function rows(costs: Costs): Row[] {
  const own = median(costs.node)
  const figure = `${own.toFixed(1)} + ${median(costs.postgres).toFixed(1)} µs CPU (Node + PostgreSQL)`
  const name = 'Chat, plain answer of 500 bytes'
  return [
    against(
      { name, figure, yardstick: 'nginx proxy_pass', missing: NO_NGINX, budget: '≤ 3.5 ×' },
      own,
      costs.nginx,
      3.5,
    ),
    against(
      { name, figure, yardstick: "Portkey's gateway", missing: NO_PORTKEY, budget: '≤ 1/7' },
      own,
      costs.portkey,
      1 / 7,
    ),
  ]
}

type Named = { name: string; figure: string; yardstick: string; missing: string; budget: string }

function against({ missing, yardstick, ...row }: Named, own: number, theirs: number[], times: number): Row {
  if (theirs.length === 0) return { ...row, yardstick: missing, ratio: '—', ok: true }
  const other = median(theirs)
  return {
    ...row,
    yardstick: `${yardstick} ${other.toFixed(1)} µs`,
    ratio: (own / other).toFixed(2),
    ok: own <= times * other,
  }
}
