import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { measureService } from '../../server/assembly/metrics.ts'
import { recordAudit } from '../../server/audit/audit.ts'
import { BlobsAway, DiskFull } from '../../server/platform/blobs/blobs.ts'
import { toText } from '../../server/platform/metrics/exposition.ts'
import { openMetrics } from '../../server/platform/metrics/metrics.ts'
import { measureQueues, readDepth } from '../../server/platform/queue/depth.ts'
import { measuredVideoQueues } from '../../server/videos/pipeline/claims.ts'
import { type Exposition, readExposition, sumOf } from '../support/data/exposition.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { ROOT } from '../support/sources.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

async function scrape(): Promise<Exposition> {
  return readExposition(await toText([await app.ctx.metrics.read()]))
}

const key = () => ({ key: person.key })
const ASKED = { model: 'sandbox-1', messages: [{ role: 'user', content: 'Hi' }] }

test('requests are counted by route and class of status, with their time', async () => {
  await send(app, 'GET', '/v1/videos/video_none', key())
  await send(app, 'GET', '/v1/no-such-thing', key())
  const read = await scrape()
  const labels = { method: 'GET', route: '/v1/videos/:video_id' }
  assert.equal(sumOf(read, 'kinora_http_requests_total', { ...labels, status: '4xx' }), 1)
  assert.equal(sumOf(read, 'kinora_http_request_duration_seconds_count', labels), 1)
  assert.equal(sumOf(read, 'kinora_http_errors_total', { route: '/v1/videos/:video_id', code: 'not_found' }), 1)
  assert.equal(sumOf(read, 'kinora_http_requests_total', { route: 'unknown', status: '4xx' }), 1)
})

test('a streamed chat counts its tokens and money as charged, its first byte and its engine', async () => {
  const headers = { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ ...ASKED, stream: true, stream_options: { include_usage: true } })
  const answer = await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', headers, body })
  const [, prompt, completion] = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(await answer.text())!
  const read = await scrape()
  assert.equal(sumOf(read, 'kinora_tokens_total', { model: 'sandbox-1', kind: 'input' }), Number(prompt))
  assert.equal(sumOf(read, 'kinora_tokens_total', { model: 'sandbox-1', kind: 'output' }), Number(completion))
  const { rows } = await app.database.pool.query(
    `select sum(amount)::text as sum from ledger_entries where kind = 'charge'`,
  )
  const charged = sumOf(read, 'kinora_charged_money_total', { kind: 'tokens', currency: 'usd' })
  assert.equal(Math.round(charged * 1e8), -Number(rows[0].sum))
  assert.equal(sumOf(read, 'kinora_http_stream_first_byte_seconds_count', { route: '/v1/chat/completions' }), 1)
  assert.equal(sumOf(read, 'kinora_chat_first_output_seconds_count', { model: 'sandbox-1' }), 1)
  const engine = { family: 'chat', engine: 'sandbox', model: 'sandbox-1', call: 'generate' }
  assert.equal(sumOf(read, 'kinora_engine_call_duration_seconds_count', engine), 1)
})

test('a video job counts its acceptance, end and price, and the time of each stage by the clock of the service', async () => {
  const created = await send(app, 'POST', '/v1/videos', key(), videoBody())
  assert.equal(created.status, 200)
  app.clock.advance(7)
  await app.tick()
  const read = await scrape()
  assert.equal(sumOf(read, 'kinora_video_jobs_created_total', { model: 'instant-1' }), 1)
  assert.equal(sumOf(read, 'kinora_video_jobs_ended_total', { model: 'instant-1', status: 'completed' }), 1)
  assert.equal(sumOf(read, 'kinora_charged_money_total', { kind: 'video', model: 'instant-1' }), 0.04)
  for (const stage of ['moderating', 'translating', 'queued', 'rendering', 'storing'])
    assert.equal(sumOf(read, 'kinora_video_stage_duration_seconds_count', { stage }), 1, stage)
  assert.equal(sumOf(read, 'kinora_video_stage_duration_seconds_sum', { stage: 'moderating' }), 7)
  for (const call of ['start', 'poll', 'fetch'])
    assert.ok(sumOf(read, 'kinora_engine_call_duration_seconds_count', { family: 'video', call }) >= 1, call)
})

test('queues, audit and database are reported from the database, the oldest due row by its age', async () => {
  const { db, clock } = app.ctx
  await send(app, 'POST', '/v1/videos', key(), videoBody())
  await recordAudit(db, [{ invariant: 'I2', title: 'x', violations: 3 }], clock.now())
  app.clock.advance(90)
  measureService(app.ctx)
  const read = await scrape()
  const labels = { queue: 'videos', state: 'moderating' }
  assert.equal(sumOf(read, 'kinora_queue_waiting', labels), 1)
  assert.equal(sumOf(read, 'kinora_queue_oldest_due_seconds', labels), 90)
  assert.equal(sumOf(read, 'kinora_queue_claimed', labels), 0)
  assert.equal(sumOf(read, 'kinora_audit_broken', { invariant: 'I2' }), 1)
  assert.equal(sumOf(read, 'kinora_audit_broken', { invariant: 'I1' }), 0)
  assert.equal(sumOf(read, 'kinora_database_reachable'), 1)
  assert.ok(sumOf(read, 'kinora_database_migration') >= 1)
  assert.equal(sumOf(read, 'kinora_storage_reachable'), 1)
  await recordAudit(db, [], clock.now())
})

test('the oldest job of each model is reported with its time limit, whoever works on it', async () => {
  const id = (await send(app, 'POST', '/v1/videos', key(), videoBody())).body.id
  const aged = async (set: string) => {
    await app.database.pool.query(
      `update video_jobs set finished_at = null, claim_id = 'w/1', claimed_until = now() + interval '1 hour', ${set} where id = $1`,
      [id],
    )
    const metrics = openMetrics()
    measureQueues({ ...app.ctx, metrics }, measuredVideoQueues(app.ctx))
    const read = readExposition(await toText([await metrics.read()]))
    return (state: string) => {
      const labels = { queue: 'videos', state, model: 'instant-1' }
      return [sumOf(read, 'kinora_queue_oldest_seconds', labels), sumOf(read, 'kinora_queue_limit_seconds', labels)]
    }
  }
  const { queue_seconds, render_seconds } = app.ctx.config.limits
  await aged(`status = 'translating'`)
  const now = app.clock.now().toISOString()
  const queued = await aged(`status = 'queued', queued_at = '${now}'::timestamptz - interval '50 s'`)
  assert.deepEqual(queued('queued'), [50, queue_seconds])
  const rendered = await aged(`status = 'in_progress', render_started_at = '${now}'::timestamptz - interval '40 s'`)
  assert.deepEqual(
    [rendered('in_progress'), rendered('queued')],
    [
      [40, render_seconds],
      [0, 0],
    ],
  )
})

test('a row whose lease has ended is under no worker', async () => {
  await app.database.pool.query(
    `update video_jobs set claimed_until = now() - interval '1 second' where claim_id = 'w/1'`,
  )
  const depth = await readDepth(app.ctx.db, measuredVideoQueues(app.ctx)[0]!)
  assert.equal(depth.find(({ state }) => state === 'in_progress')!.claimed, 0)
})

test('a request that is refused is counted by what was lacking, and no other error is', async () => {
  const refused = async (...reasons: string[]) => {
    const read = await scrape()
    return reasons.map((reason) => sumOf(read, 'kinora_refused_requests_total', { reason }))
  }
  const all = async () => sumOf(await scrape(), 'kinora_refused_requests_total')
  const before = await all()
  const { stage } = app.ctx.blobs
  await send(app, 'GET', '/v1/videos/video_none', key())
  await recordAudit(app.ctx.db, [{ invariant: 'I2', title: 'x', violations: 1 }], app.clock.now())
  app.ctx.changes.announce('audit', '')
  app.clock.advance(6)
  assert.equal((await send(app, 'POST', '/v1/videos', key(), videoBody())).status, 503)
  await recordAudit(app.ctx.db, [], app.clock.now())
  const poor = await newCustomer(app, { balance: 0n })
  assert.equal((await send(app, 'POST', '/v1/videos', { key: poor.key }, videoBody())).status, 402)
  app.ctx.blobs.stage = () => Promise.reject(new DiskFull('no space left for files'))
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob(['hello']), 'notes.txt')
  const headers = { authorization: `Bearer ${person.key}` }
  assert.equal((await fetch(`${app.url}/v1/files`, { method: 'POST', headers, body: form })).status, 503)
  app.ctx.blobs.stage = stage
  assert.deepEqual(await refused('audit', 'insufficient_credits', 'disk_full', 'database'), [1, 1, 1, 0])
  assert.equal(await all(), before + 3)
})

test('readiness is reported as /readyz has it, with the state of database and storage', async () => {
  const { check } = app.ctx.blobs
  const { stage } = app.ctx.blobs
  const found = async () => {
    app.clock.advance(2)
    const { lines } = await scrape()
    const states = lines.filter(({ name, value }) => name === 'kinora_node_state' && value === 1)
    return [
      lines.find(({ name }) => name === 'kinora_node_ready')!.value,
      ...states.map(({ labels }) => `${labels.part} ${labels.state}`),
    ]
  }
  try {
    assert.deepEqual(await found(), [1, 'database ok', 'storage ok'])
    app.ctx.blobs.check = () => Promise.reject(new BlobsAway('HeadBucket: 503'))
    assert.deepEqual(await found(), [1, 'database ok', 'storage away'])
    app.ctx.blobs.stage = () => Promise.reject(new DiskFull('no space left for files'))
    assert.deepEqual(await found(), [0, 'database ok', 'storage full'])
  } finally {
    Object.assign(app.ctx.blobs, { check, stage })
  }
  assert.deepEqual(await found(), [1, 'database ok', 'storage ok'])
})

test('no series names an organization, a person, a key, a job or a path', async () => {
  const text = await toText([await app.ctx.metrics.read()])
  assert.doesNotMatch(text, /(org|user|key|video|req)_[0-9A-Za-z]{10}/)
  assert.ok(!text.includes('no-such-thing') && !text.includes(person.key))
})

test('docs/operating/metrics.md lists every metric with its kind and labels, and none besides', async () => {
  const { types, lines } = await scrape()
  const documented = new Map(
    [
      ...readFileSync(join(ROOT, 'docs/operating/metrics.md'), 'utf8').matchAll(
        /^\| `(kinora_\w+)` \| (\w+) \|(.*?)\| /gm,
      ),
    ].map(([, name, kind, labels]) => [
      name!,
      { kind: kind!, labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!) },
    ]),
  )
  assert.deepEqual([...documented.keys()].sort(), [...types.keys()].sort())
  for (const [name, { kind, labels }] of documented) {
    assert.equal(types.get(name), kind, name)
    const reported = lines.find((line) => line.name === name || line.name === `${name}_count`)
    if (reported) assert.deepEqual(Object.keys(reported.labels).sort(), labels.sort(), name)
  }
})
