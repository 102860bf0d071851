import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSeconds } from '../../../server/platform/clock.ts'
import { responseClaims, servedResponses } from '../../../server/responses/background/claims.ts'
import { cancelClaims, servedCancels, servedJobs, videoClaims } from '../../../server/videos/pipeline/claims.ts'
import { engineAddress } from '../../../server/videos/render/served-model.ts'
import type { TestApp } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'
import { startTwoNodes } from './two-nodes.ts'

const ENGINES = (...names: string[]) => `[${names.map((name) => `{ name: ${name}, engine: instant }`).join(', ')}]`
const CHAT = (id: string) =>
  `  - { id: ${id}, engine: sandbox, context_length: 8192, capabilities: [], price_per_million: { input: "1", output: "1" } }\n`

/** `more`: the configuration of the nodes that have been changed already. */
const CONFIG = (more: boolean) => `
plans: { free: { max_concurrent_renders: 1000 } }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
${more ? '  - { id: instant-2, engine: instant, per_second: "0.010000" }' : ''}
  - { id: pool-1, engines: ${more ? ENGINES('one', 'two') : ENGINES('one')}, per_second: "0.010000" }
chat_models:
${CHAT('chat-1')}${more ? CHAT('chat-2') : ''}`

test('a job whose model or engine a node does not know is left, untouched, to a node that knows it', async (t) => {
  // The node that works does not know them; the other one knows them and works only when the test says so.
  const nodes = await startTwoNodes({
    a: { config: CONFIG(true) },
    b: () => ({ config: CONFIG(false), background: true }),
  })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const unknown: string[] = (await Promise.all([1, 2, 3].map(() => submit(a, customer, { model: 'instant-2' })))).map(
    ({ body }) => body.id,
  )
  for (const id of unknown) await until(a, id, ({ status, claim_id }) => status === 'queued' && claim_id === null)
  await a.database.pool.query(`update video_jobs set model = 'pool-1' where id = $1`, [unknown[0]])
  await begun(a, unknown[0]!, { model: 'pool-1', engine: 'two', state: 'failed' })
  const { rows } = await a.database.pool.query(
    `update video_jobs set next_run_at = now() - interval '1 minute' where id = any($1) returning xmin::text`,
    [unknown],
  )
  const known = (await submit(b, customer)).body.id
  await until(b, known, ({ status }) => status === 'completed')
  const left = await a.database.pool.query(
    'select status, claim_id, tries, xmin::text from video_jobs where id = any($1) order by id',
    [unknown],
  )
  const { xmin } = rows[0]
  assert.deepEqual(left.rows, Array(3).fill({ status: 'queued', claim_id: null, tries: 0, xmin }))
  a.clock.set(addSeconds(new Date(), 5))
  await a.tick()
  for (const id of unknown) assert.equal((await find(a, id)).status, 'completed')
})

test('a job of a model that no node knows any more waits, and fails when its time is up', async (t) => {
  const nodes = await startTwoNodes({ a: { config: CONFIG(true) }, b: () => ({ config: CONFIG(false) }) })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const { id } = (await submit(a, customer, { model: 'instant-2' })).body
  await b.tick()
  const waiting = await find(b, id)
  assert.deepEqual([waiting.status, waiting.tries], ['queued', 0])
  const { rows } = await a.database.pool.query('select running from accounts where org_id = $1', [customer.org_id])
  assert.equal(rows[0].running, 1, 'its money is still held')
  const claim = (now: Date) =>
    videoClaims.claim(b.ctx.db, { claim_id: 'b/1', now, limit: 10, only: servedJobs(b.ctx, now) })
  const late = addSeconds(waiting.queued_at, b.ctx.config.limits.queue_seconds + 1)
  assert.deepEqual(await claim(addSeconds(late, -2)), [])
  assert.equal((await claim(late)).length, 1)
  await videoClaims.release(b.ctx.db, [{ id, claim_id: 'b/1' }])
  b.clock.set(late)
  await b.tick()
  assert.equal((await find(b, id)).error_code, 'queue_timeout')
})

test('a render at an address that a node does not know is left to one that does; one that nobody takes is looked for by name', async (t) => {
  const at = (host: string) => `
video_models:
  - { id: moved-1, engine: { kind: videos-api, dialect: openai, base_url: "https://${host}.example.com", model: m }, per_second: "0.010000" }`
  const nodes = await startTwoNodes({ a: { config: at('former') }, b: () => ({ config: at('present') }) })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const { id } = (await submit(a, customer, { model: 'moved-1' })).body
  const now = addSeconds(a.clock.now(), 60)
  const member = a.ctx.engines.video.get('moved-1')!.member(null)!
  await a.database.pool.query(`update video_jobs set status = 'translating' where id = $1`, [id])
  await a.database.pool.query(
    `update video_jobs set status = 'queued', queued_at = $2, next_run_at = $2 where id = $1`,
    [id, now],
  )
  await begun(a, id, { model: 'moved-1', engine_address: engineAddress(member), state: 'unknown' })
  const claimBy = async ({ ctx }: TestApp, seconds: number) => {
    const at = addSeconds(now, seconds)
    const rows = await videoClaims.claim(ctx.db, { claim_id: 'x/1', now: at, limit: 1, only: servedJobs(ctx, at) })
    await videoClaims.release(ctx.db, rows)
    return rows.length
  }
  assert.deepEqual([await claimBy(b, 29), await claimBy(a, 0), await claimBy(b, 31)], [0, 1, 1])
})

test('a cancellation is passed on to the engine by a node that knows it', async (t) => {
  const nodes = await startTwoNodes({ a: { config: CONFIG(true) }, b: () => ({ config: CONFIG(false) }) })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const { id } = (await submit(a, customer, { model: 'instant-2' })).body
  await send(a, 'POST', `/v1/videos/${id}/cancel`, customer)
  await begun(a, id, { model: 'instant-2', state: 'canceled' })
  await a.database.pool.query('update video_jobs set cancel_due_at = finished_at where id = $1', [id])
  const now = addSeconds(a.clock.now(), 60)
  const claimBy = ({ ctx }: TestApp, given_up_before: Date) =>
    cancelClaims.claim(ctx.db, {
      claim_id: 'x/1',
      now,
      limit: 1,
      only: servedCancels(ctx, { now: a.clock.now(), given_up_before }),
    })
  assert.equal((await claimBy(b, addSeconds(now, -3600))).length, 0)
  assert.equal((await claimBy(a, addSeconds(now, -3600))).length, 1)
})

test('a background response whose model a node does not know is left to a node that knows it', async (t) => {
  const nodes = await startTwoNodes({
    a: { config: CONFIG(true) },
    b: () => ({ config: CONFIG(false), background: true }),
  })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const ask = async (model: string): Promise<string> =>
    (await send(a, 'POST', '/v1/responses', customer, { model, input: 'Hello', background: true })).body.id
  const unknown = await ask('chat-2')
  const known = await ask('chat-1')
  // A stream ends with the response.
  const headers = { authorization: `Bearer ${customer.key}` }
  await (await fetch(`${b.url}/v1/responses/${known}?stream=true`, { headers })).text()
  const { rows } = await a.database.pool.query('select status, attempts, claim_id from responses where id = $1', [
    unknown,
  ])
  assert.deepEqual(rows, [{ status: 'queued', attempts: 0, claim_id: null }])
  const now = addSeconds(new Date(), 60)
  const claimed = await responseClaims(10).claim(a.ctx.db, {
    claim_id: 'a/1',
    now,
    limit: 10,
    only: servedResponses(a.ctx, { now }),
  })
  assert.deepEqual(
    claimed.map(({ id }) => id),
    [unknown],
  )
})

/** The first start of a job, as another node has left it. */
async function begun(
  { database, clock }: TestApp,
  job_id: string,
  start: { model: string; engine?: string; engine_address?: string; state: 'unknown' | 'failed' | 'canceled' },
): Promise<void> {
  const { model, engine = null, engine_address = null, state } = start
  await database.pool.query(
    `insert into video_attempts (id, job_id, model, number, paid, engine, engine_address, state, ticket, created_at, ended_at)
     values ('att_' || $1::text, $1, $2, 1, true, $3, $4, $5::text, '{}', $6::timestamptz, case when $5 = 'unknown' then null else $6 end)`,
    [job_id, model, engine, engine_address, state, clock.now()],
  )
  await database.pool.query('update video_jobs set attempt_id = $2 where id = $1', [job_id, `att_${job_id}`])
}

// biome-ignore lint/suspicious/noExplicitAny: rows of a test.
async function find(app: TestApp, id: string): Promise<any> {
  return (await app.database.pool.query('select * from video_jobs where id = $1', [id])).rows[0]
}

async function until(
  app: TestApp,
  id: string,
  holds: (job: { status: string; claim_id: string | null }) => boolean,
): Promise<void> {
  while (!holds(await find(app, id))) await app.ctx.db.selectFrom('video_jobs').select('id').limit(1).execute()
}
