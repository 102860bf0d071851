import { cpuOf, median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import { NO_NGINX } from '../yardsticks/nginx.ts'
import { startProxy } from './answer.ts'
import type { ChatLoaded } from './client.ts'
import { chat, chatLoad, startChatService, startUpstream } from './setup.ts'

const EVENTS = 200
/** Long enough that events come one by one, as from a model, and are not read several at once. */
const GAP_MS = 10
const CALLERS = 64
const ROUNDS = 5
/** Of one round. */
const ANSWERS = 128
const WARM_ANSWERS = 768
/** Streams that begin one after another, to see when their first byte comes. */
const SINGLES = 100

/** CPU for one event of a stream, parsed, normalized and counted, and how much later the first byte comes than without us. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: EVENTS, gap_ms: GAP_MS })
  const brief = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const nginx = await startProxy(upstream, 'proxy_buffering off;')
  const near = await startChatService(brief)
  try {
    const own = chatLoad(`${service.url}/v1`, service, true)
    const proxied = nginx && { ...own, url: `${nginx.url}/v1/chat/completions` }
    const costs: { own: number[]; nginx: number[] } = { own: [], nginx: [] }
    await chat({ ...own, callers: 4 * CALLERS, amount: { answers: WARM_ANSWERS } })
    for (let round = 0; round < ROUNDS; round++) {
      costs.own.push(await costOf(service.pid, own))
      if (proxied) costs.nginx.push(await costOf(nginx.pid, proxied))
    }
    const first = await firstBytes(chatLoad(`${near.url}/v1`, near, true), brief.url)
    return [perEvent(costs.own, costs.nginx), firstByte(first)]
  } finally {
    await near.stop()
    await nginx?.stop()
    await service.stop()
    await brief.stop()
    await upstream.stop()
  }
}

type Target = ReturnType<typeof chatLoad>

async function costOf(pid: number, target: Target): Promise<number> {
  const before = cpuOf(pid)
  const { answers } = await chat({ ...target, callers: CALLERS, amount: { answers: ANSWERS } })
  return (cpuOf(pid) - before) / (answers * EVENTS)
}

async function firstBytes(own: Target, upstream: string): Promise<{ own: ChatLoaded; direct: ChatLoaded }> {
  const load = { callers: 1, amount: { answers: SINGLES } }
  await chat({ ...own, ...load, amount: { answers: 1000 } })
  const direct = await chat({ ...own, ...load, url: `${upstream}/chat/completions` })
  return { own: await chat({ ...own, ...load }), direct }
}

function perEvent(own: number[], nginx: number[]): Row {
  const cost = median(own)
  const other = nginx.length > 0 ? median(nginx) : null
  return {
    name: 'Chat stream, one event',
    figure: `${cost.toFixed(1)} µs CPU (Node)`,
    yardstick: other === null ? NO_NGINX : `nginx, buffering off: ${other.toFixed(1)} µs`,
    ratio: other === null ? '—' : (cost / other).toFixed(2),
    budget: '≤ 2.5 ×',
    ok: other === null || cost <= 2.5 * other,
  }
}

function firstByte({ own, direct }: { own: ChatLoaded; direct: ChatLoaded }): Row {
  const added = own.first_ms.p50 - direct.first_ms.p50
  return {
    name: 'Chat stream, time to first byte, p50',
    figure: `${own.first_ms.p50.toFixed(2)} ms`,
    yardstick: `model server alone ${direct.first_ms.p50.toFixed(2)} ms`,
    ratio: `+${added.toFixed(2)} ms`,
    budget: '< 2 ms more',
    ok: added < 2,
  }
}
