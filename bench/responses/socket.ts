import { join } from 'node:path'
import { chat, chatLoad, STREAMED, startChatService, startUpstream, WARM_STREAMS } from '../chat/setup.ts'
import { outputOf, spawnNode } from '../support/child.ts'
import { cpuOf } from '../support/cpu.ts'
import { alternate, amountOf, WARM } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { type BenchService, caller } from '../support/service.ts'
import type { SocketLoad, SocketLoaded } from './socket-client.ts'

const SOCKETS = 64
const INPUT = 'Describe a paper boat on a calm lake at dawn.'

/** What a response costs over a WebSocket, compared with the same response as a stream over HTTP: a short one, and an event of a long one. */
export async function run(): Promise<Row[]> {
  const short = await costsOf({ events: 1, gap_ms: 0 }, { warm: WARM, count: amountOf(2000) })
  const long = await costsOf(STREAMED, { warm: WARM_STREAMS, count: amountOf(128) })
  const perEvent = (rounds: number[]) => rounds.map((cost) => cost / STREAMED.events)
  return [
    rowFor('Response over a WebSocket, one short response, Node', short),
    rowFor('Response over a WebSocket, one event, Node', { socket: perEvent(long.socket), http: perEvent(long.http) }),
  ]
}

type Costs = { socket: number[]; http: number[] }

function rowFor(name: string, { socket, http }: Costs): Row {
  return rowOf({
    name,
    unit: 'µs CPU',
    rounds: socket,
    yardsticks: [{ name: 'the same as a stream over HTTP', rounds: http, ratio_limit: 1.1 }],
  })
}

/** CPU of the service for each response, in microseconds. */
async function costsOf(
  streamed: { events: number; gap_ms: number },
  amounts: { warm: number; count: number },
): Promise<Costs> {
  const upstream = await startUpstream(streamed)
  const service = await startChatService(upstream)
  const spent = (work: (count: number) => Promise<unknown>) => async (count: number) => {
    const before = cpuOf(service.pid)
    await work(count)
    return (cpuOf(service.pid) - before) / count
  }
  try {
    return await alternate({ socket: spent(overSockets(service)), http: spent(overHttp(service)) }, amounts)
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

function overSockets(service: BenchService) {
  return async (turns: number) => {
    const load: SocketLoad = {
      url: `${service.url.replace('http', 'ws')}/v1/responses`,
      headers: caller(service),
      message: JSON.stringify({ type: 'response.create', model: 'fast-1', input: INPUT, store: false }),
      sockets: SOCKETS,
      turns,
    }
    const client = spawnNode([join(import.meta.dirname, 'socket-client.ts'), JSON.stringify(load)], 'generator')
    const { completed, failed } = JSON.parse(await outputOf(client)) as SocketLoaded
    if (failed > 0 || completed < turns) throw new Error(`${completed} of ${turns} responses were completed`)
  }
}

function overHttp(service: BenchService) {
  const load = {
    ...chatLoad(`${service.url}/v1`, service, true),
    url: `${service.url}/v1/responses`,
    body: JSON.stringify({ model: 'fast-1', input: INPUT, store: false, stream: true }),
  }
  return (answers: number) => chat({ ...load, callers: SOCKETS, amount: { answers } })
}
