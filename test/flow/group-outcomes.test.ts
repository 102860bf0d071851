import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { armFailpoint } from '../../server/platform/failpoint.ts'
import type { Outcome } from '../../server/videos/job.ts'
import { type AppliedOutcome, advance } from '../../server/videos/pipeline/advance.ts'
import { cancelJob } from '../../server/videos/pipeline/cancel.ts'
import type { Job } from '../../server/videos/pipeline/store.ts'
import { newAttempt } from '../../server/videos/render/attempt.ts'
import { claimJob } from '../support/data/claims.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
  await service.app.database.pool.query(`
    create table commits (job_id text, status text, xid text);
    create function note_commit() returns trigger language plpgsql as $$
    begin insert into commits values (new.id, new.status, pg_current_xact_id()::text); return null; end $$;
    create trigger note_commit after update of status on video_jobs for each row
      when (old.status is distinct from new.status) execute function note_commit();
    create table account_updates (org_id text);
    create function note_account() returns trigger language plpgsql as $$
    begin insert into account_updates values (new.org_id); return null; end $$;
    create trigger note_account after update on accounts for each row execute function note_account()`)
})
after(() => service.close())
afterEach(async () => {
  armFailpoint(undefined)
  await service.app.database.pool.query('truncate commits, account_updates')
  assert.deepEqual(await service.app.audit(), {})
})

const query = async (text: string, values: unknown[] = []) => (await service.app.database.pool.query(text, values)).rows
const outcome: Outcome = { to: 'failed', code: 'internal_error' }
const statuses = async (jobs: readonly Job[]) => Promise.all(jobs.map(async ({ id }) => (await service.row(id)).status))

/** Jobs in the hands of one worker. */
async function claimed(count: number): Promise<Job[]> {
  const jobs: Job[] = []
  for (let i = 0; i < count; i++) {
    const id = await service.submit({ prompt: `Boat ${i}` })
    jobs.push((await claimJob(service.app.ctx.db, id, 'test/group'))!)
  }
  return jobs
}

test('outcomes of thirty jobs at once are written by one commit, and each account by one update', async () => {
  const before = await service.balance()
  const jobs = await claimed(30)
  await query('truncate account_updates')
  const done = await Promise.all(jobs.map((job) => advance(service.app.ctx, job, outcome)))
  assert.ok(done.every((each) => each?.job.status === 'failed'))
  const rows = await query('select xid, count(*)::int as jobs from commits group by xid')
  assert.deepEqual(
    rows.map(({ jobs }) => jobs),
    [30],
  )
  assert.deepEqual(await query('select org_id from account_updates'), [{ org_id: service.customer.org_id }])
  assert.deepEqual(await service.balance(), before)
})

test('a job whose claim was lost is not written, and the others of its group are', async () => {
  const jobs = await claimed(3)
  await query(`update video_jobs set claim_id = 'another' where id = $1`, [jobs[1]!.id])
  const done = await Promise.all(jobs.map((job) => advance(service.app.ctx, job, outcome)))
  assert.deepEqual(
    done.map((each) => each?.job.status ?? null),
    ['failed', null, 'failed'],
  )
  assert.deepEqual(await statuses(jobs), ['failed', 'moderating', 'failed'])
  await cancelJob(service.app.ctx, { org_id: service.customer.org_id, id: jobs[1]!.id })
})

test('an outcome that cannot be written is an error for its own job only', async () => {
  const jobs = await claimed(3)
  const bad = jobs[1]!
  // A column the table refuses: what a bug would do.
  const wrong: Outcome = { to: 'same', retry_after_seconds: 0, set: { progress: 100 } }
  const settled = await Promise.allSettled(
    jobs.map((job) => advance(service.app.ctx, job, job === bad ? wrong : outcome)),
  )
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await statuses(jobs), ['failed', 'moderating', 'failed'])
  await advance(service.app.ctx, bad, outcome)
})

test('a hold that was already settled keeps its own job from ending, and no other', async () => {
  const jobs = await claimed(2)
  await query(`update holds set state = 'released', settled_at = now() where job_id = $1`, [jobs[0]!.id])
  const settled = await Promise.allSettled(jobs.map((job) => advance(service.app.ctx, job, outcome)))
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  )
  assert.deepEqual(await statuses(jobs), ['moderating', 'failed'])
  await query(`update holds set state = 'placed', settled_at = null where job_id = $1`, [jobs[0]!.id])
  await advance(service.app.ctx, jobs[0]!, outcome)
})

test('when one group holds an end and a cancellation of the same job, exactly one is written', async () => {
  for (let round = 0; round < 5; round++) {
    const [job] = await claimed(1)
    const [ended, canceled]: Array<AppliedOutcome | null> = await Promise.all([
      advance(service.app.ctx, job!, outcome),
      advance(service.app.ctx, { ...job!, claim_id: null }, { to: 'canceled' }),
    ])
    assert.equal([ended, canceled].filter((each) => each !== null).length, 1)
    assert.deepEqual(await statuses([job!]), [ended ? 'failed' : 'canceled'])
  }
})

test('a group that is interrupted halfway writes nothing, for any of its jobs', async () => {
  for (const point of ['within_group_moved', 'within_group_settled', 'within_failed:2']) {
    const before = await service.balance()
    const jobs = await claimed(3)
    armFailpoint(point, () => {
      throw Object.assign(new Error(point), { code: '57P01' })
    })
    const settled = await Promise.allSettled(jobs.map((job) => advance(service.app.ctx, job, outcome)))
    assert.ok(settled.every(({ status }) => status === 'rejected'))
    assert.deepEqual(await statuses(jobs), ['moderating', 'moderating', 'moderating'], point)
    assert.deepEqual(await service.balance(), { ...before, held: before.held + COST * 3n, running: before.running + 3 })
    await Promise.all(jobs.map((job) => advance(service.app.ctx, job, outcome)))
    assert.deepEqual(await service.balance(), before)
  }
})

test('an outcome that cannot be written leaves earlier writes of its job, and those of others, as they are', async () => {
  const [job, other] = await claimed(2)
  // A column the table refuses: what a bug would do.
  const wrong: Outcome = { to: 'same', retry_after_seconds: 0, set: { progress: 100 } }
  const fine: Outcome = { to: 'same', retry_after_seconds: 0, set: { progress: 7 } }
  const settled = await Promise.allSettled([
    advance(service.app.ctx, job!, fine),
    advance(service.app.ctx, other!, fine),
    advance(service.app.ctx, job!, wrong),
  ])
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  )
  assert.equal((await service.row(job!.id)).progress, 7)
  await Promise.all([advance(service.app.ctx, job!, outcome), advance(service.app.ctx, other!, outcome)])
})

const RENDERING = (render_key: string) => ({
  state: 'rendering' as const,
  ticket: { id: 1 },
  render_key,
  answered_at: new Date(),
})

/** The job with a start whose intent is written. */
async function started(job: Job): Promise<Job> {
  const { ctx } = service.app
  for (const to of ['translating', 'queued'] as const) await advance(ctx, await service.row(job.id), { to })
  const queued = await service.row(job.id)
  const asked = { paid: true, engine: null, engine_address: 'here', start_key: null }
  const begin = newAttempt(queued, asked, { id: `att_${job.id}`, now: ctx.clock.now() })
  return (await advance(ctx, queued, { to: 'same', retry_after_seconds: 0, begin }))!.job
}

test('of jobs that are given one render in one group, one has it; the start of the other counts as not answered', async () => {
  const { ctx } = service.app
  const jobs = await Promise.all((await claimed(2)).map(started))
  const applied = await Promise.all(
    jobs.map((job) =>
      advance(ctx, job, { to: 'in_progress', attempt: { attempt: job.attempt!, set: RENDERING('one render') } }),
    ),
  )
  assert.deepEqual(
    applied.map((each) => [each?.job.status, each?.job.attempt?.state]),
    [
      ['in_progress', 'rendering'],
      ['queued', 'unknown'],
    ],
  )
  for (const [i, job] of jobs.entries()) {
    const { attempt, status } = await service.row(job.id)
    assert.deepEqual([status, attempt], [applied[i]!.job.status, applied[i]!.job.attempt])
    await advance(ctx, applied[i]!.job, outcome)
  }
})

test('two workers that both make the second start of a job: one intent is written, and the database takes no third', async () => {
  const { ctx } = service.app
  const [job] = await claimed(1)
  const first = await started(job!)
  const failed = { state: 'failed' as const, ended_at: ctx.clock.now(), ended_because: 'test' }
  const { job: ended } = (await advance(ctx, first, {
    to: 'same',
    retry_after_seconds: 0,
    attempt: { attempt: first.attempt!, set: failed },
  }))!
  const asked = { paid: true, engine: null, engine_address: 'here', start_key: null }
  const second = (id: string): Outcome => ({
    to: 'same',
    retry_after_seconds: 0,
    begin: newAttempt(ended, asked, { id, now: ctx.clock.now() }),
  })
  const both = await Promise.allSettled(['att_b', 'att_c'].map((id) => advance(ctx, ended, second(id))))
  assert.deepEqual(
    both.map((each) => (each.status === 'fulfilled' ? each.value?.job.attempt?.number : each.reason.constraint)),
    [2, 'video_attempts_number'],
  )
  await assert.rejects(query("update video_attempts set number = 3 where id = 'att_b'"), {
    constraint: 'video_attempts_paid',
  })
  await advance(ctx, await service.row(job!.id), outcome)
})
