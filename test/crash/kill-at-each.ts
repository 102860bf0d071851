import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import {
  audit,
  drained,
  keyOf,
  kill,
  MODEL,
  openSite,
  orphans,
  query,
  type Site,
  type SiteOptions,
  start,
  stop,
  submit,
} from './kinora.ts'

/** So often jobs are submitted before a crash that does not come. */
const ROUNDS_MAX = 3
/** How long jobs may take to come to the point before more are sent. */
const PATIENCE_SECONDS = 20

/** `jobs`: how many are submitted at once before each crash, the last of which violates the policy. `repeats`: models whose engine may be asked twice for one job, since its protocol has no way to find out what became of a start. */
type Options = SiteOptions & { jobs?: number; repeats?: ReadonlySet<string> }

/**
 * Kills the service at each point in turn, `name:n` being the nth pass of it, and starts it again, for one model after another; then every
 * job must have ended, been charged once if it completed, and been rendered once. Of the models that `repeats` names, a job whose start was
 * cut twice fails, uncharged.
 */
export async function killAtEach(
  points: readonly string[],
  { jobs = 4, repeats = new Set(), ...options }: Options = {},
): Promise<void> {
  const site = await openSite(options)
  const acknowledged: Acknowledged = new Map()
  const passed: Array<{ model: string; point: string }> = []
  let submitted = 0
  const key = keyOf(site)
  try {
    const models = Object.keys(options.models ?? { [MODEL]: '' })
    const kills = models.flatMap((model) => points.map((point) => ({ model, point })))
    for (const { model, point } of kills) {
      const kinora = await start(site, { failpoint: point })
      const hasEnded = () => kinora.process.exitCode !== null || kinora.process.signalCode !== null
      for (let round = 0; round < ROUNDS_MAX && !hasEnded(); round++) {
        submitted += jobs
        await Promise.all(
          Array.from({ length: jobs }, async (_, nth) => {
            const words = nth === jobs - 1 ? 'forbidden' : 'allowed'
            const prompt = `${model}: a boat at ${point}, number ${round * jobs + nth}, ${words}.`
            const answer = await submit(kinora, key, { prompt, model, idempotency_key: prompt })
            if (answer?.id) acknowledged.set(answer.id, { prompt, model })
          }),
        )
        await Promise.race([kinora.ended, pause(PATIENCE_SECONDS * 1000, undefined, { ref: false })])
      }
      if (kinora.process.signalCode === null) await kill(kinora)
      else passed.push({ model, point })
    }
    assert.deepEqual(passed, kills)
    const last = await start(site)
    await drained(site)
    await compare(site, acknowledged, { submitted, jobs, repeats })
    for (const [id, { prompt, model }] of [...acknowledged].slice(-jobs)) {
      assert.deepEqual(
        await submit(last, key, { prompt, model, idempotency_key: prompt }),
        { status: 200, id },
        'a repeated submission is the same job',
      )
    }
    assert.equal(await stop(last), 0)
  } finally {
    await site.close()
  }
}

/** What was answered, by the id of the job. */
type Acknowledged = Map<string, { prompt: string; model: string }>

async function compare(
  site: Site,
  acknowledged: Acknowledged,
  { submitted, jobs: each_time, repeats }: { submitted: number; jobs: number; repeats: ReadonlySet<string> },
): Promise<void> {
  const jobs = await query(
    site,
    `select j.id, j.model, j.prompt, j.status, j.error_code,
       (select count(*)::int from ledger_entries e where e.job_id = j.id and kind = 'charge') as charges
     from video_jobs j`,
  )
  const ids = new Set(jobs.map(({ id }) => id))
  assert.deepEqual(
    [...acknowledged.keys()].filter((id) => !ids.has(id)),
    [],
    'nothing acknowledged is missing',
  )
  // Wherever its dialect has the prompt.
  const renders = [...site.engines.renders.values()].map(({ json, fields }) => JSON.stringify([json, fields]))
  for (const { model, prompt, status, error_code, charges } of jobs) {
    const count = renders.filter((text) => text.includes(String(prompt))).length
    const isForbidden = String(prompt).includes('forbidden')
    const wasCut = !isForbidden && repeats.has(String(model)) && status === 'failed'
    if (wasCut) assert.equal(error_code, 'render_failed', String(prompt))
    const ends = isForbidden || wasCut ? 'failed' : 'completed'
    assert.deepEqual([status, charges], [ends, ends === 'completed' ? 1 : 0], String(prompt))
    const [fewest, most] = isForbidden ? [0, 0] : [wasCut ? 0 : 1, repeats.has(String(model)) ? 2 : 1]
    assert.ok(count >= fewest && count <= most, `${prompt}: rendered ${count} times`)
  }
  for (const model of repeats) {
    // The jobs of the last point had one start cut, the others perhaps two.
    const completed = jobs.filter((job) => job.model === model && job.status === 'completed')
    assert.ok(completed.length >= each_time - 1, model)
  }
  assert.equal(await audit(site), '')
  // A clip that was published just before a crash, and not recorded, is left to the hourly sweep. More jobs are sent on a slow machine.
  const left = await orphans(site)
  assert.ok(left.length <= submitted, `${left.length} orphans`)
}
