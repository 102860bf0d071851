import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../support/cpu.ts'
import { amountOf, QUICK, ROUNDS } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import type { ChatLoaded } from './client.ts'
import { neverRead } from './deaf.ts'
import { chat, chatLoad, startChatService, startStampedUpstream } from './setup.ts'

const STREAMS = amountOf(1000)
const EVENTS = QUICK ? 4 : 40
const GAP_MS = 250
/** Streams before the first round: 800,000 events. */
const WARM_STREAMS = amountOf(20_000)
/** More memory than this from the first round to the last would not be flat. */
const GROWTH_MB = 32

/** A thousand streams at once, and one more client that requests an endless stream and never reads. */
export async function run(): Promise<Row[]> {
  const upstream = await startStampedUpstream({ events: EVENTS, gap_ms: GAP_MS })
  const service = await startChatService(upstream)
  try {
    const target = chatLoad(`${service.url}/v1`, service, true)
    const load = { ...target, callers: STREAMS - 1, amount: { answers: STREAMS - 1 }, stamped: true }
    await chat({ ...load, stamped: false, amount: { answers: WARM_STREAMS } })
    const direct = await chat({ ...load, url: `${upstream.url}/chat/completions` })
    const before = memoryOf(service.pid).now
    const memory: number[] = []
    const alone: ChatLoaded[] = []
    const stalled: ChatLoaded[] = []
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await chat(load))
      const deaf = await neverRead(service)
      await sleep(1000)
      const reading = chat(load)
      await sleep((EVENTS * GAP_MS) / 2)
      memory.push(memoryOf(service.pid).now)
      stalled.push(await reading)
      deaf.destroy()
    }
    return [...delayRows({ direct, alone, stalled }), ...memoryRows(before, memory, memoryOf(service.pid).peak)]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

function delayRows({
  direct,
  alone,
  stalled,
}: {
  direct: ChatLoaded
  alone: ChatLoaded[]
  stalled: ChatLoaded[]
}): Row[] {
  const rowAt = (at: 'p50' | 'p99' | 'max' | 'worst_p95', title: string, difference_limit?: number) => {
    const roundsOf = (runs: readonly ChatLoaded[]) => runs.map(({ delay_ms }) => delay_ms[at])
    const limit = difference_limit === undefined ? {} : { difference_limit }
    return rowOf({
      name: `${STREAMS} streams, one never read: delay of an event, ${title}`,
      unit: 'ms',
      rounds: roundsOf(stalled),
      yardsticks: [
        { name: 'all read', rounds: roundsOf(alone), ...limit },
        { name: 'without us', rounds: roundsOf([direct]) },
      ],
    })
  }
  return [
    rowAt('p50', 'p50'),
    rowAt('p99', 'p99'),
    rowAt('worst_p95', 'p95 of the slowest stream', 5),
    rowAt('max', 'longest', 50),
  ]
}

function memoryRows(before: number, memory: number[], peak: number): Row[] {
  const name = `${STREAMS} streams, one never read: resident memory of Node`
  return [
    rowOf({ name, unit: 'MB', rounds: memory, yardsticks: [{ name: 'before', rounds: [before] }] }),
    rowOf({
      name: `${name}, growth from the first round to the last`,
      unit: 'MB',
      rounds: [memory.at(-1)! - memory[0]!],
      limit: GROWTH_MB,
    }),
    rowOf({ name: `${name}, peak`, unit: 'MB', rounds: [peak] }),
  ]
}
