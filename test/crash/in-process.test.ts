import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import type { Ticket, VideoEngine } from '../../server/engines/video/contract.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { armFailpoint } from '../../server/platform/failpoint.ts'
import { videoClaims } from '../../server/videos/pipeline/claims.ts'
import { books, COST, newPayer, remove, SCRIPTED_CONFIG, scriptedEngines, submit } from '../laws/scripted-app.ts'
import { startApp, type TestApp } from '../support/http/app.ts'
import { law } from '../support/law.ts'
import { trials } from '../tiers.ts'

/** Crashes, each by a seed of its own; a long run asks for more. */
const CRASHES = trials(60, 'CRASHES')

const POINTS = [
  ...['within_group_moved', 'within_group_settled'],
  ...['within_create', 'after_create', 'attempt_written', 'engine_started', 'output_staged', 'output_published'],
  ...['translating', 'queued', 'in_progress', 'completed', 'failed'].flatMap((to) => [
    `before_${to}`,
    `within_${to}`,
    `after_${to}`,
  ]),
]

/** Renders by job: what the engine began, whoever remembers it. */
const begun = new Map<string, string[]>()
let answers: 'all' | 'no start' = 'all'

let app: TestApp
before(async () => {
  const engines = scriptedEngines({ render: 'succeed', moderation: 'allow' })
  const listing: VideoEngine = {
    ...engines.video.get('outside-1')!.members[0]!.engine,
    async start({ job_id, attempt_id }): Promise<Ticket> {
      begun.set(job_id, [...(begun.get(job_id) ?? []), attempt_id])
      if (answers === 'no start') throw new EngineError('transient', 'The answer was lost.')
      return { attempt_id }
    },
    recover: async ({ job_id, attempt_id }) =>
      begun.get(job_id)?.includes(attempt_id) ? { found: { attempt_id }, certain: true } : 'absent',
  }
  const video = new Map([['outside-1', soleEngine({ engine: listing, model: 'outside-1', name: 'listing' })]])
  app = await startApp({ config: SCRIPTED_CONFIG(1000), engines: { ...engines, video } })
})
after(() => app.close())

/** What a step that lost its process looks like from inside: an outage, which nothing handles. */
class Crash extends Error {
  readonly code = '57P01'
}

/** Works until nothing is left, crashing at the armed point on the way; a crash leaves claims behind, and the next start takes them. */
async function workToTheEnd(): Promise<number> {
  let crashes = 0
  for (let turns = 0; turns < 60; turns++) {
    try {
      await app.tick()
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      crashes += 1
      await videoClaims.releaseAllBut(app.ctx.db, [])
    }
    const left = await app.ctx.db.selectFrom('video_jobs').select('id').where('finished_at', 'is', null).execute()
    if (left.length === 0) return crashes
    app.clock.advance(2)
  }
  throw new Error('jobs are left')
}

law(
  'after crashes at random places every job ends, with one charge for each that completed and one render each',
  async (seed) => {
    let state = seed
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 8) % below
    }
    let crashes = 0
    for (let round = 0; round < CRASHES; round++) {
      const payer = await newPayer(app, COST * 10n)
      const point = `${POINTS[random(POINTS.length)]}:${1 + random(3)}`
      answers = random(4) === 0 ? 'no start' : 'all'
      armFailpoint(point, () => {
        throw new Crash(point)
      })
      const ids: string[] = []
      for (let i = 0; i < 3; i++) {
        const { status, body } = await submit(app, payer)
        if (status === 200) ids.push(body.id)
        else assert.equal(status, 503, point)
      }
      crashes += await workToTheEnd()
      armFailpoint(undefined)
      const { balance, held, running, jobs, completed, charges, entries } = await books(app, payer.org_id)
      assert.ok(jobs >= ids.length, point)
      assert.deepEqual([held, running, completed, charges, balance], [0n, 0, jobs, jobs, entries], point)
      assert.equal(balance, COST * (10n - BigInt(jobs)))
      for (const id of ids) {
        assert.equal(begun.get(id)?.length, 1, `${point}: ${id} was rendered ${begun.get(id)?.length} times`)
        if (random(3) === 0) assert.equal((await remove(app, payer, id)).status, 200)
      }
    }
    assert.deepEqual(await app.audit(), {})
    assert.ok(crashes > CRASHES / 4, `only ${crashes} crashes`)
  },
)
