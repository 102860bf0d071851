import { join } from 'node:path'
import { runningPostgresUrl } from '../../server/platform/postgres/embedded.ts'
import { cpuOf, cpuOfTree, median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import { chat, chatLoad, firstLine, spawnNode, startChatService, startUpstream, stop } from './setup.ts'

const CALLERS = 64
const ROUNDS = 5
const ANSWERS = 4000
const WARM_ANSWERS = 8000

/** What committing usage before the end of every answer costs: the same route in two processes, one of them without a meter. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const database = runningPostgresUrl(join(service.dir, 'data', 'postgres'))!
  const start = (metering: 'on' | 'off') =>
    spawnNode([
      ...[join(import.meta.dirname, 'metered.ts'), metering, database],
      ...[upstream.url, service.org_id, service.user_id],
    ])
  const on = start('on')
  const off = start('off')
  try {
    const metered = chatLoad(`${await firstLine(on)}/v1`, service, false)
    const unmetered = chatLoad(`${await firstLine(off)}/v1`, service, false)
    const costs: Record<'on' | 'off' | 'postgres', number[]> = { on: [], off: [], postgres: [] }
    for (const each of [metered, unmetered])
      await chat({ ...each, callers: CALLERS, amount: { answers: WARM_ANSWERS } })
    for (let round = 0; round < ROUNDS; round++) {
      const before = { on: cpuOf(on.pid!), postgres: cpuOfTree(service.postgres_pid) }
      await chat({ ...metered, callers: CALLERS, amount: { answers: ANSWERS } })
      costs.on.push((cpuOf(on.pid!) - before.on) / ANSWERS)
      costs.postgres.push((cpuOfTree(service.postgres_pid) - before.postgres) / ANSWERS)
      const unmeteredBefore = cpuOf(off.pid!)
      await chat({ ...unmetered, callers: CALLERS, amount: { answers: ANSWERS } })
      costs.off.push((cpuOf(off.pid!) - unmeteredBefore) / ANSWERS)
    }
    return [row(median(costs.on), median(costs.off), median(costs.postgres))]
  } finally {
    await stop(on)
    await stop(off)
    await service.stop()
    await upstream.stop()
  }
}

function row(on: number, off: number, postgres: number): Row {
  return {
    name: 'Chat, what committed usage costs',
    figure: `${on.toFixed(1)} + ${postgres.toFixed(1)} µs CPU (Node + PostgreSQL)`,
    yardstick: `without a meter ${off.toFixed(1)} µs`,
    ratio: (on / off).toFixed(2),
    budget: `reported: ${(on - off).toFixed(1)} µs more in Node`,
    ok: true,
  }
}
