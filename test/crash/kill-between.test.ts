import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '../support/http/send.ts'
import { audit, keyOf, kill, openSite, query, type Site, start, submit } from './kinora.ts'
import { modelOf, modelsOf, OUTSIDE, type OutsideEngine } from './outside-engines.ts'

/** A site with one job on each engine, which that is rendering, and the service that renders them. */
async function rendering(engines: readonly OutsideEngine[]) {
  const site = await openSite({ models: modelsOf(engines) })
  try {
    return { site, ...(await renderOn(site, engines)) }
  } catch (error) {
    await site.close()
    throw error
  }
}

async function renderOn(site: Site, engines: readonly OutsideEngine[]) {
  const service = await start(site)
  const key = keyOf(site)
  site.engines.conduct({ polls: 1_000_000 })
  // Not even the first poll is answered, so that the renders also stay in the engines' own queues.
  for (const { poll } of engines) if (poll !== null) site.engines.script({ ...poll, times: 1_000_000, fault: AWAY })
  const ids: string[] = []
  for (const model of engines.map(modelOf)) ids.push((await submit(service, key, { prompt: 'A boat.', model }))!.id!)
  await until('they are rendering', async () => (await jobsOf(site)).every(({ status }) => status === 'in_progress'))
  return { service, key, ids }
}

const AWAY = { kind: 'status', status: 503 } as const

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await holds())) {
    assert.ok(performance.now() < end, `after a minute, not yet: ${what}`)
    await pause(50)
  }
}

async function jobsOf(site: Site) {
  return query(
    site,
    `select model, status, (select count(*)::int from ledger_entries e where e.job_id = j.id and kind = 'charge') as charges
     from video_jobs j order by model`,
  )
}

async function isRendering(site: Site): Promise<boolean> {
  return (await jobsOf(site)).some(({ status }) => status === 'in_progress')
}

/** Loses the renders of these engines, kills the service at each start that follows, and compares how each job ends. */
async function loseAndKill(
  engines: readonly OutsideEngine[],
  { failpoint, ends, renders }: { failpoint: string; ends: { status: string; charges: number }; renders: number },
): Promise<void> {
  const { site, service } = await rendering(engines)
  try {
    await kill(service)
    site.engines.unscript()
    site.engines.forget()
    site.engines.conduct({ polls: 0 })
    // The engines have been asked for long enough.
    await query(site, "update video_attempts set missing_since = now() - interval '1 minute'")
    let kills = 0
    while (await isRendering(site)) {
      // Several may have been started again before the first kill.
      const { process } = await start(site, kills < engines.length ? { failpoint } : {})
      await until('killed, or done', async () => process.signalCode !== null || !(await isRendering(site)))
      if (process.signalCode !== null) kills += 1
    }
    assert.ok(kills > 0)
    const ended = engines.map((each) => ({ model: modelOf(each), ...ends }))
    assert.deepEqual(
      await jobsOf(site),
      ended.sort((a, b) => (a.model < b.model ? -1 : 1)),
    )
    assert.equal(site.engines.started(), engines.length * renders)
    assert.equal(await audit(site), '')
  } finally {
    await site.close()
  }
}

test('the second starts of renders that the engines lost are found and charged once, though the service is killed at each of them', () =>
  loseAndKill(
    OUTSIDE.filter(({ finds }) => finds),
    { failpoint: 'engine_started:1', ends: { status: 'completed', charges: 1 }, renders: 2 },
  ))

// Nobody can say whether the second start began a render, so there is no third.
for (const outside of OUTSIDE.filter(({ finds }) => !finds)) {
  test(`${outside.name}: the second start of a render that the engine lost counts, though the service is killed at it, and nothing is charged`, () =>
    loseAndKill([outside], { failpoint: 'attempt_written:1', ends: { status: 'failed', charges: 0 }, renders: 1 }))
}

test('renders that were canceled while the engines were out of reach are stopped after the service was killed', async () => {
  const engines = OUTSIDE.filter(({ cancel }) => cancel !== null)
  const { site, service, key, ids } = await rendering(engines)
  try {
    for (const { cancel } of engines) site.engines.script({ ...cancel!, times: 1_000_000, fault: AWAY })
    for (const id of ids)
      assert.equal((await send(service, 'POST', `/v1/videos/${id}/cancel`, { key }, {})).status, 200)
    await kill(service)
    const renders = [...site.engines.renders.values()]
    assert.deepEqual(
      renders.filter(({ canceled }) => canceled),
      [],
    )
    site.engines.unscript()
    await start(site)
    const isStopped = async () => renders.every((each) => each.canceled || !site.engines.renders.has(each.id))
    await until('every engine is asked again', isStopped)
    assert.deepEqual(
      (await jobsOf(site)).map(({ status, charges }) => [status, charges]),
      ids.map(() => ['canceled', 0]),
    )
    assert.equal(await audit(site), '')
  } finally {
    await site.close()
  }
})
