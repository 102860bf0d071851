import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { recordAudit } from '../../server/audit/audit.ts'
import { observeAudit } from '../../server/audit/metrics.ts'
import { observeStorage } from '../../server/platform/blobs/metrics.ts'
import { observeDatabase } from '../../server/platform/db/metrics.ts'
import { toText } from '../../server/platform/metrics/exposition.ts'
import { observeQueues } from '../../server/platform/queue/depth.ts'
import { observedResponseQueue } from '../../server/responses/background/claims.ts'
import { observedVideoQueues } from '../../server/videos/pipeline/claims.ts'
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
  const { db, metrics, clock } = app.ctx
  await send(app, 'POST', '/v1/videos', key(), videoBody())
  await recordAudit(db, [{ invariant: 'I2', title: 'x', violations: 3 }], clock.now())
  app.clock.advance(90)
  observeQueues(app.ctx, [...observedVideoQueues, observedResponseQueue])
  observeAudit(metrics, db)
  observeDatabase(metrics, db)
  observeStorage(metrics, app.ctx.blobs)
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

test('no series names an organization, a person, a key, a job or a path', async () => {
  const text = await toText([await app.ctx.metrics.read()])
  assert.doesNotMatch(text, /(org|user|key|video|req)_[0-9A-Za-z]{10}/)
  assert.ok(!text.includes('no-such-thing') && !text.includes(person.key))
})

test('docs/operating.md lists every metric with its kind and labels, and none besides', async () => {
  const { types, lines } = await scrape()
  const documented = new Map(
    [...readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').matchAll(/^\| `(kinora_\w+)` \| (\w+) \|(.*?)\| /gm)].map(
      ([, name, kind, labels]) => [
        name!,
        { kind: kind!, labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!) },
      ],
    ),
  )
  assert.deepEqual([...documented.keys()].sort(), [...types.keys()].sort())
  for (const [name, { kind, labels }] of documented) {
    assert.equal(types.get(name), kind, name)
    const reported = lines.find((line) => line.name === name || line.name === `${name}_count`)
    if (reported) assert.deepEqual(Object.keys(reported.labels).sort(), labels.sort(), name)
  }
})
