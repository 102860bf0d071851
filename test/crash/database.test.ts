import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  audit,
  databasePid,
  drained,
  type Kinora,
  keyOf,
  kill,
  openSite,
  orphans,
  query,
  type Site,
  start,
  stop,
  submit,
} from './kinora.ts'

type Seen = { acknowledged: Set<string>; statuses: Set<number> }
type Load = { until(holds: (seen: Seen) => boolean): Promise<void>; stop(): Promise<Seen> }

/** Submits jobs, several at a time, until `stop`; records the answers. */
function load(kinora: Kinora, key: string, name: string): Load {
  const seen: Seen = { acknowledged: new Set(), statuses: new Set() }
  let over = false
  const lines = Array.from({ length: 4 }, async (_, line) => {
    for (let i = 0; !over; i++) {
      const answer = await submit(kinora, key, { prompt: `A boat of ${name}, ${line}, ${i}` })
      if (answer) seen.statuses.add(answer.status)
      if (answer?.id) seen.acknowledged.add(answer.id)
      await pause(50)
    }
  })
  return {
    async until(holds) {
      const late = performance.now() + 30_000
      while (!holds(seen)) {
        assert.ok(
          performance.now() < late,
          `${seen.acknowledged.size} jobs were accepted, statuses ${[...seen.statuses]}`,
        )
        await pause(20)
      }
    },
    async stop() {
      over = true
      await Promise.all(lines)
      return seen
    },
  }
}

/** Jobs accepted between one fault and the next. */
const SOME_JOBS = 10

/** Everything acknowledged is there and complete, and paid for and rendered once. */
async function compare(site: Site, acknowledged: Set<string>): Promise<void> {
  await drained(site)
  const jobs = await query(
    site,
    "select j.id, j.status, j.error_code, (select count(*)::int from ledger_entries e where e.job_id = j.id and kind = 'charge') as charges from video_jobs j",
  )
  const ids = new Set(jobs.map(({ id }) => id))
  assert.deepEqual(
    [...acknowledged].filter((id) => !ids.has(id)),
    [],
    'nothing acknowledged is missing',
  )
  assert.deepEqual(
    jobs.filter(({ status, charges }) => status !== 'completed' || charges !== 1),
    [],
  )
  assert.deepEqual(renderedAgain(site), [], 'one render each')
  assert.equal(site.engines.started(), jobs.length, 'one render each')
  assert.equal(await audit(site), '')
  const left = (await orphans(site)).length
  assert.ok(left <= KILLS_MAX * IN_FLIGHT_MAX, `${left} clips are left to the sweep`)
}

/** Prompts of which the engine began more than one render, each with the renders; no two jobs share a prompt. */
function renderedAgain({ engines }: Site): Array<{ prompt: string | undefined; renders: string[] }> {
  const byPrompt = Map.groupBy(engines.renders.values(), ({ fields }) => fields.prompt)
  return [...byPrompt]
    .filter(([prompt, renders]) => prompt === undefined || renders.length > 1)
    .map(([prompt, renders]) => ({ prompt, renders: renders.map(({ id }) => id) }))
}

/** A commit whose answer was lost leaves its clip to the sweep: at most one for each job in flight at each kill. */
const KILLS_MAX = 4
const IN_FLIGHT_MAX = 32

test('PostgreSQL killed under load, its backends and then the server: the service survives, what it does not take is 503, and no acknowledged job is missing', async () => {
  const site = await openSite()
  try {
    const kinora = await start(site)
    const key = keyOf(site)
    const acknowledged = new Set<string>()
    for (const round of [1, 2]) {
      const loading = load(kinora, key, `round ${round}`)
      await loading.until(({ acknowledged }) => acknowledged.size >= SOME_JOBS)
      await query(
        site,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      await loading.until(({ acknowledged }) => acknowledged.size >= 2 * SOME_JOBS)
      const killed = databasePid(site)
      process.kill(killed, 'SIGKILL')
      // A quick restart may be over before a submission has met it.
      await loading.until(() => isReplaced(site, killed))
      const seen = await loading.stop()
      for (const id of seen.acknowledged) acknowledged.add(id)
      assert.equal(kinora.process.exitCode, null, kinora.log().slice(-2000))
      assert.deepEqual(
        [...seen.statuses].filter((status) => status !== 200 && status !== 503),
        [],
        'what is not taken is 503',
      )
      await answering(kinora, key)
    }
    await compare(site, acknowledged)
    assert.equal(await stop(kinora), 0)
  } finally {
    await site.close()
  }
})

test('service and PostgreSQL killed together, as when a container dies: after the next start no acknowledged job is missing', async () => {
  const site = await openSite()
  try {
    let kinora = await start(site)
    const key = keyOf(site)
    const acknowledged = new Set<string>()
    for (const round of [1, 2]) {
      const loading = load(kinora, key, `round ${round}`)
      await loading.until(({ acknowledged }) => acknowledged.size >= SOME_JOBS)
      process.kill(databasePid(site), 'SIGKILL')
      await kill(kinora)
      for (const id of (await loading.stop()).acknowledged) acknowledged.add(id)
      kinora = await start(site)
    }
    assert.ok(acknowledged.size >= SOME_JOBS)
    await compare(site, acknowledged)
    assert.equal(await stop(kinora), 0)
  } finally {
    await site.close()
  }
})

/** Whether another process serves the database. While that one starts, nothing names it. */
function isReplaced(site: Site, killed: number): boolean {
  try {
    return databasePid(site) !== killed
  } catch {
    return false
  }
}

/** Resolves once a submission is taken again; throws after half a minute. */
async function answering(kinora: Kinora, key: string): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    const answer = await submit(kinora, key, { prompt: `Is anybody there? ${tries} ${performance.now()}` })
    if (answer?.status === 200) return
    await pause(200)
  }
  throw new Error('the service did not come back')
}
