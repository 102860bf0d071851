import { join } from 'node:path'
import { runningPostgresUrl } from '../../server/platform/postgres/embedded.ts'
import { firstLine, spawnNode, stop } from '../support/child.ts'
import { cpuOf, cpuOfTree } from '../support/cpu.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { chat, chatLoad, startChatService, startUpstream } from './setup.ts'

const CALLERS = 64
/** Of one round. */
const ANSWERS = amountOf(4000)

/** What committing usage before the end of every answer costs: the same route in two processes, one of them without a meter. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const database = runningPostgresUrl(join(service.dir, 'data', 'postgres'))!
  const start = (metering: 'on' | 'off') => {
    const args = [metering, database, upstream.url, service.org_id, service.user_id]
    return spawnNode([join(import.meta.dirname, 'metered.ts'), ...args], 'subject')
  }
  const [on, off] = [start('on'), start('off')]
  try {
    const costOf = async (child: typeof on) => {
      const target = chatLoad(`${await firstLine(child)}/v1`, service, false)
      return async (answers: number) => {
        const before = { node: cpuOf(child.pid!), postgres: cpuOfTree(service.postgres_pid) }
        await chat({ ...target, callers: CALLERS, amount: { answers } })
        const postgres = (cpuOfTree(service.postgres_pid) - before.postgres) / answers
        return { node: (cpuOf(child.pid!) - before.node) / answers, postgres }
      }
    }
    const costs = await alternate({ off: await costOf(off), on: await costOf(on) }, { count: ANSWERS })
    const unmetered = costs.off.map(({ node }) => node)
    const name = 'Chat, the route alone, usage committed'
    return [
      rowOf({
        name: `${name}, Node`,
        unit: 'µs CPU',
        rounds: costs.on.map(({ node }) => node),
        yardsticks: [{ name: 'without a meter', rounds: unmetered }],
      }),
      rowOf({ name: `${name}, PostgreSQL`, unit: 'µs CPU', rounds: costs.on.map(({ postgres }) => postgres) }),
    ]
  } finally {
    await stop(on)
    await stop(off)
    await service.stop()
    await upstream.stop()
  }
}
