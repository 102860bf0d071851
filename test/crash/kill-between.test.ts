import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '../support/http/send.ts'
import { audit, drained, kill, openSite, ownerOf, query, type Site, start, submit } from './kinora.ts'
import { OUTSIDE, type OutsideEngine } from './outside-engines.ts'

/** A site with one job that the engine is rendering, and the service that renders it. */
async function rendering(outside: OutsideEngine) {
  const site = await openSite({ engine: outside.engine })
  try {
    return { site, ...(await renderOn(site, outside.poll)) }
  } catch (error) {
    await site.close()
    throw error
  }
}

async function renderOn(site: Site, poll: OutsideEngine['poll']) {
  const service = await start(site)
  const { key } = await ownerOf(site, service)
  site.engines.conduct({ polls: 1_000_000 })
  // Not even the first poll is answered, so that the render also stays in the engine's own queue.
  if (poll !== null) site.engines.script({ ...poll, times: 1_000_000, fault: { kind: 'status', status: 503 } })
  const { id } = (await submit(service, key, { prompt: 'A boat.' }))!
  await until('it is rendering', async () => (await jobOf(site)).status === 'in_progress')
  return { service, key, id: id! }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await holds())) {
    assert.ok(performance.now() < end, `after a minute, not yet: ${what}`)
    await pause(50)
  }
}

async function jobOf(site: Site) {
  const [job] = await query(
    site,
    `select status, (select count(*)::int from ledger_entries e where e.job_id = j.id and kind = 'charge') as charges
     from video_jobs j`,
  )
  return job!
}

for (const outside of OUTSIDE) {
  const { name, cancel, finds } = outside

  test(`${name}: a render that the engine lost is started once more and charged once, though the service is killed at that start`, async () => {
    const { site, service } = await rendering(outside)
    try {
      await kill(service)
      site.engines.unscript()
      site.engines.forget()
      site.engines.conduct({ polls: 0 })
      const second = await start(site, { failpoint: finds ? 'engine_started:1' : 'attempt_written:1' })
      assert.equal(await second.ended, 'SIGKILL')
      await start(site)
      await drained(site)
      const { status, charges } = await jobOf(site)
      assert.deepEqual([status, charges], ['completed', 1])
      assert.equal(site.engines.started(), 2, 'the lost render, and one more')
      assert.equal(await audit(site), '')
    } finally {
      await site.close()
    }
  })

  if (cancel === null) continue
  test(`${name}: a render that was canceled while the engine was out of reach is stopped after the service was killed`, async () => {
    const { site, service, key, id } = await rendering(outside)
    try {
      site.engines.script({ ...cancel, times: 1_000_000, fault: { kind: 'status', status: 503 } })
      const { status } = await send(service, 'POST', `/v1/videos/${id}/cancel`, { key }, {})
      assert.equal(status, 200)
      await kill(service)
      const [render] = [...site.engines.renders.values()]
      assert.equal(render!.canceled, false)
      site.engines.unscript()
      await start(site)
      const isStopped = async () => render!.canceled || !site.engines.renders.has(render!.id)
      await until('the engine is asked again', isStopped)
      const job = await jobOf(site)
      assert.deepEqual([job.status, job.charges], ['canceled', 0])
      assert.equal(await audit(site), '')
    } finally {
      await site.close()
    }
  })
}
