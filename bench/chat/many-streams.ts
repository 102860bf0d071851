import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'
import type { ChatLoaded } from './client.ts'
import { chat, chatLoad, startChatService, startStampedUpstream } from './setup.ts'

const STREAMS = 1000
const EVENTS = 40
const GAP_MS = 250
/** Rounds of streams one after another, in the same process, to see whether its memory settles. */
const ROUNDS = 3
/** More than this from one round to the next would not be flat. */
const GROWTH_MB = 32

/** A thousand streams at once, and one client beside them that asks for a flood and never reads. */
export async function run(): Promise<Row[]> {
  const upstream = await startStampedUpstream({ events: EVENTS, gap_ms: GAP_MS })
  const service = await startChatService(upstream)
  try {
    const target = chatLoad(`${service.url}/v1`, service, true)
    const load = { ...target, callers: STREAMS - 1, amount: { answers: STREAMS - 1 }, stamped: true }
    const direct = await chat({ ...load, url: `${upstream.url}/chat/completions` })
    await chat(load)
    const alone = await chat(load)
    const memory = [memoryOf(service.pid).now]
    const stalled: ChatLoaded[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const deaf = await neverRead(service)
      const reading = chat(load)
      await sleep((EVENTS * GAP_MS) / 2)
      memory.push(memoryOf(service.pid).now)
      stalled.push(await reading)
      deaf.destroy()
    }
    return [delays({ direct, alone, stalled }), flat(memory)]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

/** Asks for a stream without an end and takes nothing of it. */
async function neverRead(service: BenchService): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const body = JSON.stringify({ model: 'fast-1', stream: true, messages: [{ role: 'user', content: 'flood' }] })
  const head = `host: ${hostname}\r\nauthorization: Bearer ${service.api_key}\r\ncontent-type: application/json`
  const socket = connect({ host: hostname, port: Number(port) }).pause()
  socket.on('error', () => {})
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await sleep(1000)
  return socket
}

function delays(runs: { direct: ChatLoaded; alone: ChatLoaded; stalled: ChatLoaded[] }): Row {
  const { direct, alone } = runs
  const stalled = runs.stalled.map(({ delay_ms }) => delay_ms).sort((a, b) => a.max - b.max)[Math.floor(ROUNDS / 2)]!
  const format = ({ p50, p99, max }: typeof stalled) => `${p50.toFixed(1)} / ${p99.toFixed(1)} / ${max.toFixed(1)} ms`
  const added = stalled.max - alone.delay_ms.max
  return {
    name: `${STREAMS} streams, one never read: delay of an event, p50 / p99 / max`,
    figure: format(stalled),
    yardstick: `all read ${format(alone.delay_ms)}, without us ${format(direct.delay_ms)}`,
    ratio: `${added >= 0 ? '+' : ''}${added.toFixed(1)} ms`,
    budget: '≤ 50 ms more by the others',
    ok: added <= 50,
  }
}

function flat(memory: number[]): Row {
  const growth = memory.at(-1)! - memory[1]!
  return {
    name: `${STREAMS} streams, one never read: resident memory`,
    figure: memory.map((mb) => mb.toFixed(0)).join(' → ') + ' MB',
    yardstick: '—',
    ratio: `${growth >= 0 ? '+' : ''}${growth.toFixed(0)} MB`,
    budget: `flat: ≤ ${GROWTH_MB} MB more`,
    ok: growth <= GROWTH_MB,
  }
}
