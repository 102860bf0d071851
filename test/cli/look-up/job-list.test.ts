import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { STATUSES } from '../../../server/videos/job.ts'
import { findEndOfWalk, listJobsOfAnyOrg, type WantedJobs } from '../../../server/videos/list/store-any-org.ts'
import { MODEL, type PipelineApp, startPipelineApp } from '../../flow/pipeline-app.ts'
import { runCommand } from '../../support/command.ts'
import { plansOf } from '../../support/data/plans.ts'
import { testDatabase } from '../../support/data/postgres.ts'
import { newCustomer, type TestPerson, videoBody } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'

const ENGINE = '{ kind: videos-api, dialect: openai, base_url: "{engines}", model: wan }'
const ALL: WantedJobs = {
  org_id: null,
  statuses: STATUSES,
  model: null,
  engine: null,
  error: null,
  since: null,
  before: null,
  order: 'desc',
  limit: 50,
  read_max: 1000,
}

let service: PipelineApp
let other: TestPerson
/** In the order in which they were made: now, an hour later, and two hours later. */
let completed: string
let blocked: string
let running: string
let elsewhere: string
before(async () => {
  service = await startPipelineApp({
    several: `[{ name: own, weight: 1000, engine: ${ENGINE} }, { name: rented, weight: 0.000001, engine: ${ENGINE} }]`,
  })
  other = await newCustomer(service.app)
  completed = await service.submit()
  await service.drive(completed)
  service.app.clock.advance(3600)
  blocked = await service.submit({ prompt: 'Something forbidden, the canary' })
  await service.drive(blocked)
  service.app.clock.advance(3600)
  service.engines.conduct({ polls: 9 })
  running = await service.submit()
  await service.drive(running, ({ status }) => status === 'in_progress')
  const { body } = await send(service.app, 'POST', '/v1/videos', other, videoBody({ model: MODEL }))
  elsewhere = body.id
})
after(() => service.close())

const list = (...args: string[]) =>
  runCommand(['admin', 'job', 'list', ...args], { DATABASE_URL: service.app.database.url })

async function ids(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await list(...args, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout).data.map(({ id }: { id: string }) => id)
}

/** Ids begin with the time at which they were made, and never go back: times of tests lie ahead. */
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

test('job list finds jobs by status, age, model, engine, organization and error', async () => {
  assert.deepEqual(await ids(), [elsewhere, running, blocked, completed])
  assert.deepEqual(await ids('--oldest', '--limit', '2'), [completed, blocked])
  assert.deepEqual(await ids('--status', 'unfinished'), [elsewhere, running])
  assert.deepEqual(await ids('--status', 'ended'), [blocked, completed])
  assert.deepEqual(await ids('--status', 'moderating,completed'), [elsewhere, completed])
  assert.deepEqual(await ids('--status', 'failed', '--org', service.customer.org_id), [blocked])
  assert.deepEqual(await ids('--error', 'moderation_blocked'), [blocked])
  assert.deepEqual(await ids('--error', 'render_timeout'), [])
  assert.deepEqual(await ids('--engine', 'own'), [running, completed])
  assert.deepEqual(await ids('--engine', `${MODEL}/own`), [running, completed])
  assert.deepEqual(await ids('--engine', MODEL), [running, completed])
  assert.deepEqual(await ids('--engine', 'videos-api'), [running, completed])
  for (const none of ['rented', `${MODEL}/rented`, 'other/own']) assert.deepEqual(await ids('--engine', none), [])
  assert.deepEqual(await ids('--model', MODEL, '--org', other.org_id), [elsewhere])
  assert.deepEqual(await ids('--model', 'other'), [])
  assert.deepEqual(await ids('--since', inMinutes(30)), [elsewhere, running, blocked])
  assert.deepEqual(await ids('--older-than', inMinutes(90), '--since', inMinutes(30)), [blocked])
  assert.deepEqual(await ids('--since', '10m', '--older-than', inMinutes(30), '--status', 'ended'), [completed])
  assert.deepEqual(await ids('--older-than', '10m'), [])
  assert.deepEqual(await ids('--since', '2020-01-01', '--status', 'completed'), [completed])
})

test('job list is a table that fits in 100 characters, with UTC times and ages, and says when there is more', async () => {
  const { code, stdout, stderr } = await list('--limit', '3')
  assert.equal(code, 0, stderr)
  const [heading, first, , third, more] = stdout.split('\n')
  assert.match(heading!, /^id +created +age +status +detail +organi\S* +model +engine$/)
  assert.match(first!, new RegExp(`^${elsewhere}  \\d\\d-\\d\\d \\d\\d:\\d\\dZ +-\\d+m  moderating `))
  assert.match(third!, new RegExp(`^${blocked} .* -\\d+m  failed +moder`))
  assert.equal(more, '… and more: --limit, at most 1000')
  assert.ok(stdout.split('\n').every(({ length }) => length <= 100))
  assert.doesNotMatch(stdout, /canary/)
  assert.equal((await list('--error', 'none')).stdout, 'none\n')
})

test('job list refuses statuses and ages that are none, without repeating them', async () => {
  for (const flag of ['--status', '--since', '--older-than']) {
    const { code, stderr } = await list(flag, 'canary')
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`^kinora admin job list: ${flag} is n`, 'm'))
    assert.doesNotMatch(stderr, /canary/)
  }
})

test('job list looks through so many jobs that ended, says where it stopped, and has every unfinished one', async () => {
  const { db } = service.app.ctx
  const wanted: WantedJobs = { ...ALL, read_max: 1, statuses: ['completed', 'in_progress'] }
  const found = await listJobsOfAnyOrg(db, wanted)
  assert.deepEqual(
    found.map(({ id }) => id),
    [running],
  )
  const { created_at } = await service.row(completed)
  assert.deepEqual(await findEndOfWalk(db, wanted), created_at)
  assert.equal(await findEndOfWalk(db, { ...wanted, read_max: 2 }), null)
  assert.equal(await findEndOfWalk(db, { ...wanted, statuses: ['queued'] }), null)
})

test('job list reads unfinished jobs from their index, those that ended in the order of their ids, and starts by id', async (t) => {
  const database = await testDatabase()
  t.after(database.close)
  await database.pool.query(`
    insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, status, per_second, cost,
                            currency, created_at, next_run_at, finished_at, attempt_id)
    select 'video_01ARZ3NDEKTSV4RRFFQ' || lpad(n::text, 7, '0'), 'org_' || n % 20, 'u', 'r', 'm', 'p', 4, '16:9', '[]',
           case when n > 19800 then 'moderating' else 'canceled' end, 1, 4, 'usd', now(), now(),
           case when n <= 19800 then now() end, 'att_' || n
    from generate_series(1, 20000) n`)
  await database.pool.query(`
    insert into video_attempts (id, job_id, model, number, paid, state, created_at, ended_at)
    select 'att_' || n, 'video_01ARZ3NDEKTSV4RRFFQ' || lpad(n::text, 7, '0'), 'm', 1, true, 'canceled', now(), now()
    from generate_series(1, 20000) n`)
  await database.pool.query('analyze video_jobs, video_attempts')
  const planOf = async (wanted: Partial<WantedJobs>) => {
    const [plan] = await plansOf(database, (db) => listJobsOfAnyOrg(db, { ...ALL, read_max: 100_000, ...wanted }))
    assert.doesNotMatch(plan!, /Seq Scan/)
    return plan!
  }
  assert.match(await planOf({ statuses: ['moderating'], engine: 'a' }), /Scan (using|on) video_jobs_open/)
  const ended = await planOf({ statuses: ['failed'], error: 'x', engine: 'a' })
  assert.match(ended, /Index Scan Backward using video_jobs_pkey/)
  assert.match(ended, /Index Scan using video_attempts_pkey/)
  assert.match(await planOf({ statuses: ['failed'], org_id: 'org_1' }), /Scan.* video_jobs_ended/)
  const [walk] = await plansOf(database, (db) => findEndOfWalk(db, { ...ALL, read_max: 100_000, statuses: ['failed'] }))
  assert.doesNotMatch(walk!, /Seq Scan|Sort/)
})
