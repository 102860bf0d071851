import { chat, chatLoad, STREAMED, startChatService, startUpstream, WARM_STREAMS } from '../chat/setup.ts'
import { cpuOf } from '../support/cpu.ts'
import { alternate, amountOf, WARM } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'
import { startBareProxy } from '../yardsticks/bare/start.ts'
import { NO_NGINX, startNginxProxy } from '../yardsticks/nginx.ts'

const CALLERS = 64
/** Of one round. */
const STREAMS = amountOf(128)
const PLAIN = amountOf(2000)

/** What a response costs compared with the chat completion of the same text: an event of its stream, and a plain answer. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream(STREAMED)
  const service = await startChatService(upstream)
  const bare = await startBareProxy(upstream, 'parse')
  const nginx = await startNginxProxy(upstream, 'proxy_buffering off;')
  try {
    return await rowsOf({ service, bare, nginx })
  } finally {
    await nginx?.stop()
    await bare.stop()
    await service.stop()
    await upstream.stop()
  }
}

type Server = { url: string; pid: number }

async function rowsOf({
  service,
  bare,
  nginx,
}: {
  service: BenchService
  bare: Server
  nginx: Server | null
}): Promise<Row[]> {
  /** CPU of a server's process, in microseconds, for each `share` of an answer. */
  const costOf =
    ({ pid }: Server, target: ReturnType<typeof chatLoad>, share: number) =>
    async (answers: number) => {
      const before = cpuOf(pid)
      const done = await chat({ ...target, callers: CALLERS, amount: { answers } })
      return (cpuOf(pid) - before) / (done.answers * share)
    }
  const chatted = (server: Server, stream: boolean) =>
    costOf(server, chatLoad(`${server.url}/v1`, service, stream), stream ? STREAMED.events : 1)
  const answered = (kind: { stream: boolean; store: boolean }) => {
    const target = chatLoad(`${service.url}/v1`, service, kind.stream)
    const load = { ...target, url: `${service.url}/v1/responses`, body: responseBody(kind) }
    return costOf(service, load, kind.stream ? STREAMED.events : 1)
  }
  const beside = (stream: boolean) => ({
    chat: chatted(service, stream),
    bare: chatted(bare, stream),
    nginx: nginx && chatted(nginx, stream),
  })
  const streamed = await alternate(
    { own: answered({ stream: true, store: false }), ...beside(true) },
    { warm: WARM_STREAMS, count: STREAMS },
  )
  const plain = await alternate(
    {
      unstored: answered({ stream: false, store: false }),
      stored: answered({ stream: false, store: true }),
      ...beside(false),
    },
    { warm: WARM, count: PLAIN },
  )
  const yardsticks = (costs: { chat: number[]; bare: number[]; nginx: number[] }, ratio_limit?: number) => [
    { name: 'chat, the same words', rounds: costs.chat, ...(ratio_limit !== undefined && { ratio_limit }) },
    { name: 'bare Node proxy, chat', rounds: costs.bare },
    { name: 'nginx, chat', rounds: nginx ? costs.nginx : { missing: NO_NGINX } },
  ]
  const unit = 'µs CPU'
  const unstored = { name: 'not stored', rounds: plain.unstored, ratio_limit: 1.3 }
  return [
    rowOf({
      name: 'Response stream, one event, Node',
      unit,
      rounds: streamed.own,
      yardsticks: yardsticks(streamed, 2),
    }),
    rowOf({
      name: 'Response, plain, not stored, Node',
      unit,
      rounds: plain.unstored,
      yardsticks: yardsticks(plain, 2),
    }),
    rowOf({
      name: 'Response, plain, stored, Node',
      unit,
      rounds: plain.stored,
      yardsticks: [unstored, ...yardsticks(plain)],
    }),
  ]
}

/** The conversation of the chat benchmarks. */
function responseBody({ stream, store }: { stream: boolean; store: boolean }): string {
  const instructions = 'You are a careful assistant. Answer in one paragraph.'
  const input = 'Describe a paper boat on a calm lake at dawn.'
  const body = { model: 'fast-1', instructions, input, temperature: 0.7, max_output_tokens: 400, store }
  return JSON.stringify(stream ? { ...body, stream } : body)
}
