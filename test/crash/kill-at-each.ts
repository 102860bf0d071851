import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Render } from '../support/upstream/engine-server/renders.ts'
import { audit, drained, kill, openSite, orphans, ownerOf, query, type Site, start, stop, submit } from './kinora.ts'

/** Jobs submitted at once before each crash; the last of them violates the policy. More follow when it does not come. */
const JOBS = 4
const JOBS_MAX = 12
/** How long jobs may take to come to the point before more are sent. */
const PATIENCE_SECONDS = 20

/**
 * Kills the service at each point in turn, `name:n` being the nth pass of it, and starts it again; then every job must have ended, been
 * charged once if it completed, and been rendered once. `renders_max`: how often an engine may be asked for one job, where its protocol has
 * no way to find out what became of a start; then a job whose start was cut twice fails, uncharged.
 */
export async function killAtEach(
  points: readonly string[],
  { renders_max = 1, ...options }: { engine?: string; moderation?: string; renders_max?: number } = {},
): Promise<void> {
  const site = await openSite(options)
  const acknowledged = new Map<string, string>()
  const passed: string[] = []
  let submitted = 0
  let key = ''
  try {
    const first = await start(site)
    key = (await ownerOf(site, first)).key
    assert.equal(await stop(first), 0)
    for (const point of points) {
      const kinora = await start(site, { failpoint: point })
      for (
        let i = 0;
        i < JOBS_MAX && kinora.process.exitCode === null && kinora.process.signalCode === null;
        i += JOBS
      ) {
        submitted += JOBS
        await Promise.all(
          Array.from({ length: JOBS }, async (_, nth) => {
            const prompt = `A boat at ${point}, number ${i + nth}${nth === JOBS - 1 ? ', forbidden' : ''}`
            const answer = await submit(kinora, key, { prompt, idempotency_key: prompt })
            if (answer?.id) acknowledged.set(answer.id, prompt)
          }),
        )
        await Promise.race([kinora.ended, pause(PATIENCE_SECONDS * 1000, undefined, { ref: false })])
      }
      if (kinora.process.signalCode === null) await kill(kinora)
      else passed.push(point)
    }
    assert.deepEqual(passed, points)
    const last = await start(site)
    await drained(site)
    await compare(site, acknowledged, { submitted, renders_max })
    for (const [id, prompt] of [...acknowledged].slice(-JOBS)) {
      assert.deepEqual(
        await submit(last, key, { prompt, idempotency_key: prompt }),
        { status: 200, id },
        'a repeated submission is the same job',
      )
    }
    assert.equal(await stop(last), 0)
  } finally {
    await site.close()
  }
}

async function compare(
  site: Site,
  acknowledged: Map<string, string>,
  { submitted, renders_max }: { submitted: number; renders_max: number },
): Promise<void> {
  const jobs = await query(
    site,
    `select j.id, j.prompt, j.status, j.error_code, (select count(*)::int from ledger_entries e where e.job_id = j.id and kind = 'charge') as charges
     from video_jobs j`,
  )
  const ids = new Set(jobs.map(({ id }) => id))
  assert.deepEqual(
    [...acknowledged.keys()].filter((id) => !ids.has(id)),
    [],
    'nothing acknowledged is missing',
  )
  for (const { prompt, status, charges } of jobs) {
    const isForbidden = String(prompt).includes('forbidden')
    const ends = isForbidden || (renders_max > 1 && status === 'failed') ? 'failed' : 'completed'
    assert.deepEqual([status, charges], [ends, ends === 'completed' ? 1 : 0], String(prompt))
  }
  const completed = jobs.filter(({ status }) => status === 'completed').map(({ prompt }) => prompt)
  const renders = Map.groupBy(site.engines.renders.values(), promptOf)
  const often = [...renders].filter(([, { length }]) => length > renders_max).map(([prompt]) => prompt)
  assert.deepEqual(often, [], `no job was rendered more than ${renders_max} times`)
  if (renders_max === 1) assert.equal(renders.size, completed.length)
  else {
    // The jobs of the last point had one start cut, the others perhaps two.
    assert.ok(completed.length >= JOBS - 1 && completed.every((prompt) => renders.has(String(prompt))))
    const codes = jobs.filter(({ prompt }) => !String(prompt).includes('forbidden')).map(({ error_code }) => error_code)
    assert.ok(codes.every((code) => code === null || code === 'render_failed'))
  }
  assert.equal(await audit(site), '')
  // A clip that was published just before a crash, and not recorded, is left to the hourly sweep. More jobs are sent on a slow machine.
  const left = await orphans(site)
  assert.ok(left.length <= submitted, `${left.length} orphans`)
}

/** Of a render, in whatever place its dialect has it. */
function promptOf({ json, fields }: Render): string {
  const { input, content, instances } = (json ?? {}) as {
    input?: { prompt?: string }
    content?: Array<{ text?: string }>
    instances?: Array<{ prompt: string }>
  }
  const part = content?.find(({ text }) => text !== undefined)
  return input?.prompt ?? part?.text ?? instances?.[0]?.prompt ?? fields.prompt ?? ''
}
