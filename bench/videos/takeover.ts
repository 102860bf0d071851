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
 * Two nodes on one database, of which one is killed while it has renders under its claims: how long until the last of them is under no claim
 * of a dead worker any more. The node is replaced, and the other one is killed next.
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

/** Both nodes hold renders, and together nearly all: a node that holds none would show nothing. */
async function whenClaimed({ database }: TestApp, count: number): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select count(*)::int as n, count(distinct split_part(claim_id, '/', 1))::int as workers
       from video_jobs where claim_id is not null and ticket is not null`,
    )
    if (rows[0].n >= count && rows[0].workers === 2) return
    await pause(50)
  }
}

/** Seconds until PostgreSQL has seen a worker's connection end and no job is under a claim of such a worker any more. */
async function untilReclaimed({ database }: TestApp): Promise<number> {
  const began = performance.now()
  for (let seen = false; ; ) {
    const { rows } = await database.pool.query(
      `select count(*)::int as n from video_jobs j where claim_id is not null and not exists (
         select from pg_locks l where l.locktype = 'advisory' and l.granted
           and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(split_part(j.claim_id, '/', 1), 7301950146))`,
    )
    if (rows[0].n > 0) seen = true
    else if (seen) return (performance.now() - began) / 1000
    await pause(20)
  }
}
