import { chat, chatLoad, startChatService, startUpstream } from '../chat/setup.ts'
import { cpuOf, median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'

const EVENTS = 200
/** Long enough that events come one by one, as from a model, and are not read several at once. */
const GAP_MS = 10
const CALLERS = 64
const ROUNDS = 5
/** Of one round. */
const STREAMS = 128
const PLAIN = 2000
const WARM_STREAMS = 512
const WARM_PLAIN = 4000

/** What a response costs beside the chat completion of the same words: an event of its stream, and a plain answer. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: EVENTS, gap_ms: GAP_MS })
  const service = await startChatService(upstream)
  try {
    const streamed = { amount: STREAMS, warm: WARM_STREAMS, share: EVENTS }
    const plain = { amount: PLAIN, warm: WARM_PLAIN, share: 1 }
    const event = await compare(service, { stream: true, store: false }, streamed)
    const answer = await compare(service, { stream: false, store: false }, plain)
    const kept = await compare(service, { stream: false, store: true }, plain)
    return [
      rowOf('Response stream, one event', event, 2),
      rowOf('Response, plain, not stored', answer, 2),
      rowOf('Response, plain, stored', kept, null),
    ]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

type Costs = { own: number; chat: number }

/** CPU of the service's process, in microseconds, for each `share` of an answer; rounds of both alternate. */
async function compare(
  service: BenchService,
  kind: { stream: boolean; store: boolean },
  { amount, warm, share }: { amount: number; warm: number; share: number },
): Promise<Costs> {
  const completion = chatLoad(`${service.url}/v1`, service, kind.stream)
  const response = { ...completion, url: `${service.url}/v1/responses`, body: responseBody(kind) }
  const costs: { own: number[]; chat: number[] } = { own: [], chat: [] }
  const costOf = async (target: typeof response, answers: number) => {
    const before = cpuOf(service.pid)
    const done = await chat({ ...target, callers: CALLERS, amount: { answers } })
    return (cpuOf(service.pid) - before) / (done.answers * share)
  }
  await costOf(completion, warm)
  await costOf(response, warm)
  for (let round = 0; round < ROUNDS; round++) {
    costs.own.push(await costOf(response, amount))
    costs.chat.push(await costOf(completion, amount))
  }
  return { own: median(costs.own), chat: median(costs.chat) }
}

/** The conversation of the chat benchmarks. */
function responseBody({ stream, store }: { stream: boolean; store: boolean }): string {
  const instructions = 'You are a careful assistant. Answer in one paragraph.'
  const input = 'Describe a paper boat on a calm lake at dawn.'
  const body = { model: 'fast-1', instructions, input, temperature: 0.7, max_output_tokens: 400, store }
  return JSON.stringify(stream ? { ...body, stream } : body)
}

/** `times`: as much of chat's cost as it may be; null where there is no budget. */
function rowOf(name: string, { own, chat: other }: Costs, times: number | null): Row {
  return {
    name,
    figure: `${own.toFixed(1)} µs CPU (Node)`,
    yardstick: `chat, the same words: ${other.toFixed(1)} µs`,
    ratio: (own / other).toFixed(2),
    budget: times === null ? '—' : `≤ ${times} ×`,
    ok: times === null || own <= times * other,
  }
}
