import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { newCustomer, startApp, type TestApp } from '../../test/support/http/app.ts'
import { submit } from '../../test/support/http/videos-app.ts'
import { startEngineServer } from '../../test/support/upstream/engine-server/server.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'

const ROUNDS = QUICK ? 2 : 20
const JOBS = 20
const BUDGET_SECONDS = { median: 2, longest: 3 }
const NODE = join(import.meta.dirname, '..', '..', 'test', 'crash', 'node.ts')

/**
 * Two nodes on one database, of which one is killed while renders are under their claims: how long until it is taken for dead and its claims
 * are released. The node is replaced, and the other one is killed next.
 */
export async function run(): Promise<Row[]> {
  const engines = await startEngineServer()
  engines.conduct({ polls: 1e9 })
  const config = `
plans: { free: { max_concurrent_renders: 100000 } }
video_models:
  - { id: outside-1, engine: { kind: videos-api, dialect: openai, base_url: "${engines.url}", model: wan }, per_second: "0.010000" }
`
  const api = await startApp({ config })
  const customer = await newCustomer(api)
  const nodes = [await startNode(api, config), await startNode(api, config)]
  const seconds: number[] = []
  try {
    for (let round = 0; round < ROUNDS; round++) {
      // Equal requests would be started one at a time.
      const prompts = Array.from({ length: JOBS }, (_, i) => `Boat ${round}-${i}`)
      await Promise.all(prompts.map((prompt) => submit(api, customer, { model: 'outside-1', prompt })))
      await whenClaimed(api, JOBS * (round + 1) * 0.9)
      const victim = nodes.shift()!
      await pause(100 + Math.random() * 2000)
      victim.kill('SIGKILL')
      await once(victim, 'exit')
      seconds.push(await untilReclaimed(api))
      nodes.push(await startNode(api, config))
    }
  } finally {
    for (const node of nodes) node.kill('SIGKILL')
    await api.close()
    await engines.close()
  }
  const name = 'Jobs of a killed node, released to another'
  return [
    rowOf({ name, unit: 's', rounds: seconds, limit: BUDGET_SECONDS.median }),
    rowOf({ name: `${name}, longest`, unit: 's', rounds: [Math.max(...seconds)], limit: BUDGET_SECONDS.longest }),
  ]
}

async function startNode({ database, dir, secret }: TestApp, config: string) {
  const beside = { database: { url: database.url }, dir, secret }
  const child = spawn(process.execPath, [NODE, JSON.stringify({ config, beside })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

async function whenClaimed({ database }: TestApp, count: number): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select count(*)::int as n, (select count(*)::int from workers) as workers
       from video_jobs j join video_attempts a on a.id = j.attempt_id where j.claim_id is not null and a.ticket is not null`,
    )
    if (rows[0].n >= count && rows[0].workers === 2) return
    await pause(50)
  }
}

/** Seconds until the killed node's worker is gone, whose rows are released in the same transaction. */
async function untilReclaimed({ database }: TestApp): Promise<number> {
  const began = performance.now()
  for (;;) {
    const { rows } = await database.pool.query('select count(*)::int as n from workers')
    if (rows[0].n === 1) return (performance.now() - began) / 1000
    await pause(20)
  }
}
