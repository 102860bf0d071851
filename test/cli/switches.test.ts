import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { findProcesses } from '../../server/operations/store-processes.ts'
import { toText } from '../../server/platform/metrics/exposition.ts'
import { runCommand } from '../support/command.ts'
import { readExposition, sumOf } from '../support/data/exposition.ts'
import { newCustomer, startApp, type TestApp, type TestPerson, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { type ChatUpstream, startChatUpstream } from '../support/upstream/chat-upstream.ts'

let app: TestApp
let upstream: ChatUpstream
let person: TestPerson
before(async () => {
  upstream = await startChatUpstream()
  const engine = JSON.stringify({ kind: 'openai', base_url: upstream.url })
  const config = `
plans: { free: { max_concurrent_renders: 100 } }
chat_models: [{ id: m, price_per_million: { input: "1", output: "1" }, engine: ${engine} }]
video_models:
  - id: clip
    per_second: "0.01"
    engines: [{ name: one, engine: instant, weight: 100 }, { name: two, engine: instant }]
`
  app = await startApp({ config, background: true, node_id: 'node_switches' })
  person = await newCustomer(app)
  await untilTrue(async () => (await findProcesses(app.database.db)).some(({ state }) => state.engines?.length))
})
after(async () => {
  await app.close()
  await upstream.close()
})

async function untilTrue(isSo: () => unknown): Promise<void> {
  while (!(await isSo())) await pause(10)
}

/** What the command prints. It has succeeded, and the service knows. */
async function admin(...words: string[]) {
  const { code, stdout, stderr } = await runCommand(['admin', ...words, '--json'], { DATABASE_URL: app.database.url })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

async function engine(deed: 'pause' | 'drain' | 'resume', name: string) {
  const found = await admin('engine', deed, name)
  await untilTrue(() => app.ctx.switches.isPaused(name) === (deed !== 'resume'))
  return found
}

const newJob = async () =>
  (await send(app, 'POST', '/v1/videos', person, videoBody({ model: 'clip' }))).body.id as string

async function startsOf(job: string) {
  const { rows } = await app.database.pool.query('select engine from video_attempts where job_id = $1', [job])
  return rows.map((row: { engine: string }) => row.engine)
}

async function jobIs(id: string, condition: string) {
  await untilTrue(async () => {
    const { rows } = await app.database.pool.query(`select 1 from video_jobs where id = $1 and ${condition}`, [id])
    return rows.length > 0
  })
}

test('a paused engine starts nothing: its jobs go to another one of the model, or wait until it is resumed', async () => {
  assert.equal((await engine('pause', 'clip/one')).state, 'paused')
  const elsewhere = await newJob()
  await jobIs(elsewhere, "status = 'completed'")
  assert.deepEqual(await startsOf(elsewhere), ['two'])

  await engine('drain', 'clip')
  const waiting = await newJob()
  await jobIs(waiting, "status = 'queued' and next_run_at > queued_at + interval '3 seconds'")
  assert.deepEqual(await startsOf(waiting), [])
  const { engines } = await admin('status')
  const states = engines.filter(({ family }: { family: string }) => family === 'video')
  assert.deepEqual(
    states.map(({ name, state }: { name: string; state: string }) => [name, state]),
    [
      ['clip/one', 'paused'],
      ['clip/two', 'draining'],
    ],
  )
  await engine('resume', 'clip')
  await jobIs(waiting, "status = 'completed'")
  assert.deepEqual(await startsOf(waiting), ['two'])
  await engine('resume', 'clip/one')
})

test('draining waits for the renders that run, and exits with 1 while there are some', async () => {
  await engine('pause', 'clip')
  const job = await newJob()
  await jobIs(job, "status = 'queued' and next_run_at > queued_at + interval '3 seconds'")
  const { pool } = app.database
  await pool.query(
    `insert into video_attempts (id, job_id, model, number, paid, engine, engine_address, state, created_at)
     values ('att_draining', $1, 'clip', 1, false, 'one', 'instant', 'starting', now())`,
    [job],
  )
  await pool.query("update video_jobs set attempt_id = 'att_draining' where id = $1", [job])
  const drain = ['admin', 'engine', 'drain', 'clip/one', '--json', '--wait']
  const env = { DATABASE_URL: app.database.url }
  const { code, stdout } = await runCommand([...drain, '0'], env)
  assert.deepEqual([code, JSON.parse(stdout).running], [1, 1])
  const drained = runCommand([...drain, '600'], env)
  await pool.query("update video_jobs set attempt_id = null where attempt_id = 'att_draining'")
  await pool.query("delete from video_attempts where id = 'att_draining'")
  const ended = await drained
  assert.deepEqual([ended.code, JSON.parse(ended.stdout).running], [0, 0])
  await admin('engine', 'resume', 'clip/one')
  await admin('engine', 'resume', 'clip')
})

test('completions of a paused chat model are 503, and its background responses wait', async () => {
  await engine('pause', 'm')
  const chat = () =>
    send(app, 'POST', '/v1/chat/completions', person, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
  const refused = await chat()
  assert.deepEqual(
    [refused.status, refused.body.error.code, refused.headers.get('retry-after')],
    [503, 'server_is_overloaded', '30'],
  )
  const accepted = await send(app, 'POST', '/v1/responses', person, { model: 'm', input: 'Hi', background: true })
  assert.equal(accepted.status, 200)
  assert.equal(upstream.requests.length, 0)
  await engine('resume', 'm')
  await untilTrue(async () => {
    const { body } = await send(app, 'GET', `/v1/responses/${accepted.body.id}`, person)
    return body.status === 'completed'
  })
  assert.equal((await chat()).status, 200)
})

test('while intake is paused new work is 503 with a code of its own, what was accepted goes on, and reading works', async () => {
  await engine('pause', 'clip')
  const accepted = await newJob()
  assert.equal((await admin('intake', 'pause')).state, 'paused')
  await untilTrue(async () => (await admin('status')).intake === 'paused')
  const isPaused = () => {
    try {
      app.ctx.switches.requireIntake()
      return false
    } catch {
      return true
    }
  }
  await untilTrue(isPaused)
  const messages = [{ role: 'user', content: 'Hi' }]
  const paused = async () =>
    sumOf(readExposition(await toText([await app.ctx.metrics.read()])), 'kinora_refused_requests_total', {
      reason: 'paused',
    })
  const before = await paused()
  const requests: Array<[string, object]> = [
    ['/v1/videos', videoBody({ model: 'clip' })],
    ['/v1/chat/completions', { model: 'm', messages }],
    ['/v1/responses', { model: 'm', input: 'Hi' }],
    ['/v1/responses', { model: 'm', input: 'Hi', background: true }],
    ['/v1/responses/compact', { model: 'm', input: 'Hi' }],
  ]
  for (const [path, body] of requests) {
    const { status, body: answer, headers } = await send(app, 'POST', path, person, body)
    assert.deepEqual([path, status, answer.error.code, headers.get('retry-after')], [path, 503, 'intake_paused', '30'])
  }
  assert.equal((await paused()) - before, requests.length, 'the alert of server errors leaves them out')
  assert.equal((await send(app, 'GET', `/v1/videos/${accepted}`, person)).status, 200)
  await engine('resume', 'clip')
  await jobIs(accepted, "status = 'completed'")
  await admin('intake', 'resume')
  await untilTrue(() => !isPaused())
  for (const [path, body] of requests) assert.equal((await send(app, 'POST', path, person, body)).status, 200, path)
})

test('an engine that does not exist cannot be paused, and one that is not paused cannot be resumed', async () => {
  const env = { DATABASE_URL: app.database.url }
  const unknown = await runCommand(['admin', 'engine', 'pause', 'clop'], env)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /no engine clop. There are clip, clip\/one, clip\/two, m\./)
  const running = await runCommand(['admin', 'engine', 'resume', 'clip'], env)
  assert.equal(running.code, 1)
  assert.match(running.stderr, /engine clip is not paused/)
})
