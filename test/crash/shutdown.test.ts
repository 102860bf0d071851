import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { SERVER_MAIN } from '../runner/server-bundle.ts'
import { argumentsOf, childrenOf } from '../support/processes.ts'
import { audit, drained, keyOf, openSite, query, type Site, start, stop, submit } from './kinora.ts'

test('SIGTERM under load: the service drains and exits with 0, no acknowledged job is lost, none is charged without a clip', async () => {
  const site = await openSite()
  try {
    let kinora = await start(site)
    const key = keyOf(site)
    const acknowledged = new Set<string>()
    const statuses = new Set<number>()
    site.engines.conduct({ polls: 1 })
    for (let round = 0; round < 2; round++) {
      let over = false
      const lines = Array.from({ length: 6 }, async (_, line) => {
        for (let i = 0; !over; i++) {
          const answer = await submit(kinora, key, { prompt: `A boat of round ${round}, ${line}, ${i}` })
          if (answer) statuses.add(answer.status)
          await pause(10)
          if (answer?.id) acknowledged.add(answer.id)
        }
      })
      while (acknowledged.size < (round + 1) * 10) await pause(10)
      assert.equal(await stop(kinora), 0, kinora.log().slice(-2000))
      over = true
      await Promise.all(lines)
      kinora = await start(site)
    }
    assert.deepEqual(
      [...statuses].filter((status) => status !== 200 && status !== 503),
      [],
    )
    site.engines.conduct({ polls: 0 })
    await drained(site)
    const jobs = await query(site, 'select id, status from video_jobs')
    const ids = new Set(jobs.map(({ id }) => id))
    assert.ok(acknowledged.size >= 20)
    assert.deepEqual(
      [...acknowledged].filter((id) => !ids.has(id)),
      [],
    )
    assert.deepEqual(
      jobs.filter(({ status }) => status !== 'completed'),
      [],
    )
    assert.equal(site.engines.started(), jobs.length)
    assert.equal(await audit(site), '')
    assert.equal(await stop(kinora), 0)
  } finally {
    await site.close()
  }
})

test('jobs that wait for their next poll when the service stops go on as soon as it is back', async () => {
  const site = await openSite()
  try {
    const first = await start(site)
    const key = keyOf(site)
    site.engines.conduct({ polls: 1 })
    await submit(first, key, { prompt: 'A boat that waits' })
    await site.engines.received('GET', /^\/v1\/videos\/video_1$/)
    await untilRow(
      site,
      "select from video_jobs j join video_attempts a on a.id = j.attempt_id where a.state = 'rendering' and j.next_run_at > now()",
    )
    assert.equal(await stop(first), 0)
    await assert.rejects(query(site, 'select 1'), 'the database stops with the service')
    const second = await start(site)
    const back = performance.now()
    await drained(site)
    assert.ok(performance.now() - back < 25_000, 'when they are due, not when a sweep finds them')
    assert.equal(await stop(second), 0)
  } finally {
    await site.close()
  }
})

test('a second service on a data directory exits at once with the reason, and the first is not disturbed', async () => {
  const site = await openSite()
  try {
    const first = await start(site)
    const key = keyOf(site)
    await assert.rejects(start(site), /ended with 1: .*in use by another service/s)
    const answer = await submit(first, key, { prompt: 'A boat in peace' })
    assert.equal(answer?.status, 200)
    await drained(site)
    assert.equal(await stop(first), 0)
  } finally {
    await site.close()
  }
})

test('several HTTP processes serve one set of jobs; one that is killed is replaced', async () => {
  const site = await openSite()
  try {
    const kinora = await start(site, { args: ['--workers', '2'] })
    const key = keyOf(site)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => submit(kinora, key, { prompt: `A boat of many, ${i}` })),
    )
    assert.ok(answers.every((answer) => answer?.status === 200))
    process.kill(httpProcesses(kinora.process.pid!)[0]!, 'SIGKILL')
    const replaced = performance.now() + 20_000
    while (httpProcesses(kinora.process.pid!).length < 2) {
      assert.ok(performance.now() < replaced, 'the killed process is replaced')
      await pause(100)
    }
    await drained(site)
    const jobs = await query(site, "select id from video_jobs where status = 'completed'")
    assert.equal(jobs.length, 20)
    assert.equal(site.engines.started(), 20)
    assert.equal(await audit(site), '')
    assert.equal(await stop(kinora), 0)
  } finally {
    await site.close()
  }
})

/** Resolves once the query finds a row; throws after half a minute. */
async function untilRow(site: Site, text: string): Promise<void> {
  const until = performance.now() + 30_000
  while ((await query(site, text)).length === 0) {
    assert.ok(performance.now() < until, `no row: ${text}`)
    await pause(20)
  }
}

/** The HTTP processes of a service, among its children in Linux's process table. */
function httpProcesses(pid: number): number[] {
  return childrenOf(pid).filter((child) => argumentsOf(child).some((each) => each === SERVER_MAIN))
}
