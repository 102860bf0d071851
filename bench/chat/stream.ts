import { cpuOf } from '../support/cpu.ts'
import { alternate, amountOf, ROUNDS, WARM } from '../support/rounds.ts'
import { type Rounds, type Row, rowOf } from '../support/row.ts'
import { startBareProxy } from '../yardsticks/bare/start.ts'
import { NO_NGINX, startNginxProxy } from '../yardsticks/nginx.ts'
import { chat, chatLoad, STREAMED, startChatService, startUpstream, WARM_STREAMS } from './setup.ts'

const CALLERS = 64
/** Of one round. */
const ANSWERS = amountOf(128)
/** Streams that start one after another, to measure the time to their first byte. */
const SINGLES = amountOf(100)

/** CPU for one event of a stream, parsed, normalized and counted, and the delay that the service adds to the first byte. */
export async function run(): Promise<Row[]> {
  return [await event(), await firstByte()]
}

async function event(): Promise<Row> {
  const upstream = await startUpstream(STREAMED)
  const service = await startChatService(upstream)
  const bare = await startBareProxy(upstream, 'parse')
  const nginx = await startNginxProxy(upstream, 'proxy_buffering off;')
  try {
    const target = chatLoad(`${service.url}/v1`, service, true)
    const costOf =
      ({ pid, url }: { pid: number; url: string }) =>
      async (answers: number) => {
        const before = cpuOf(pid)
        const load = { ...target, url: `${url}/v1/chat/completions`, callers: CALLERS, amount: { answers } }
        const { answers: done } = await chat(load)
        return (cpuOf(pid) - before) / (done * STREAMED.events)
      }
    const contenders = { bare: costOf(bare), nginx: nginx && costOf(nginx), own: costOf(service) }
    const costs = await alternate(contenders, { warm: WARM_STREAMS, count: ANSWERS })
    return eventRow({ ...costs, nginx: nginx ? costs.nginx : { missing: NO_NGINX } })
  } finally {
    await nginx?.stop()
    await bare.stop()
    await service.stop()
    await upstream.stop()
  }
}

function eventRow({ own, bare, nginx }: Record<'own' | 'bare' | 'nginx', Rounds>): Row {
  return rowOf({
    name: 'Chat stream, one event, Node',
    unit: 'µs CPU',
    rounds: own,
    yardsticks: [
      { name: 'bare Node proxy, parsed and encoded again', rounds: bare, ratio_limit: 1.25 },
      { name: 'nginx, buffering off', rounds: nginx, ratio_limit: 2.5 },
    ],
  })
}

async function firstByte(): Promise<Row> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  try {
    const own = chatLoad(`${service.url}/v1`, service, true)
    const direct = { ...own, url: `${upstream.url}/chat/completions` }
    const p50 = async (target: typeof own) =>
      (await chat({ ...target, callers: 1, amount: { answers: SINGLES } })).first_ms.p50
    for (const target of [own, direct]) await chat({ ...target, callers: CALLERS, amount: { answers: WARM } })
    const rounds: Record<'own' | 'direct', number[]> = { own: [], direct: [] }
    for (let round = 0; round < ROUNDS; round++) {
      rounds.direct.push(await p50(direct))
      rounds.own.push(await p50(own))
    }
    return rowOf({
      name: 'Chat stream, time to first byte, p50',
      unit: 'ms',
      rounds: rounds.own,
      yardsticks: [{ name: 'model server alone', rounds: rounds.direct, difference_limit: 1 }],
    })
  } finally {
    await service.stop()
    await upstream.stop()
  }
}
