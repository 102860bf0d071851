import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLog } from '../../server/platform/log.ts'
import { videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { MODEL, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const CANARY = 'Zweihandschwertfisch'
const JAPANESE = `${CANARY}が泳ぐ。<d>${CANARY}だ</d>「${CANARY}」`

/** Names of the tables in which some column of some row holds `word`, and how often. */
async function tablesWith(service: PipelineApp, word: string): Promise<Record<string, number>> {
  const { pool } = service.app.database
  const { rows: tables } = await pool.query(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await pool.query(`select count(*)::int as n from ${name} t where t::text ilike '%' || $1 || '%'`, [
      word,
    ])
    if (rows[0].n > 0) found[name] = rows[0].n
  }
  assert.ok(tables.length > 15, 'every table is looked at')
  return found
}

test('a prompt is stored in no table but the jobs, no log line, no file and no error body', async () => {
  const lines: string[] = []
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  const service = await startPipelineApp(
    {
      translation: '{ kind: chat, model: translator, base_url: "{engines}" }',
      moderation: '{ kind: openai-moderations, base_url: "{engines}", timeout_seconds: 1 }',
    },
    { log },
  )
  const echo = { error: { code: 'server_error', message: `cannot render ${CANARY}`, param: CANARY } }
  const scripts = [
    () => {},
    () =>
      service.engines.script({ path: '/v1/moderations', times: 3, fault: { kind: 'status', status: 500, body: echo } }),
    () =>
      service.engines.script({
        path: '/v1/chat/completions',
        times: 3,
        fault: { kind: 'status', status: 400, body: echo },
      }),
    () =>
      service.engines.script({
        method: 'POST',
        path: '/v1/videos',
        fault: { kind: 'status', status: 422, body: echo },
      }),
    () =>
      service.engines.script({
        method: 'POST',
        path: '/v1/videos',
        fault: { kind: 'status', status: 503, body: echo },
      }),
    () =>
      service.engines.script({
        method: 'GET',
        path: /^\/v1\/videos\/[^/]+$/,
        fault: { kind: 'status', status: 401, body: CANARY },
      }),
    () =>
      service.engines.script({ method: 'GET', path: /content$/, fault: { kind: 'status', status: 200, body: CANARY } }),
    () => service.engines.conduct({ status: 'failed', error: { code: `x ${CANARY}`, message: CANARY } }),
  ]
  const bodies: unknown[] = []
  for (const script of scripts) {
    for (const prompt of [`A ${CANARY}`, JAPANESE, `${CANARY} forbidden`]) {
      script()
      const headers = { 'idempotency-key': `canary ${bodies.length}` }
      const caller = { ...service.customer, headers }
      const { body } = await send(service.app, 'POST', '/v1/videos', caller, videoBody({ model: MODEL, prompt }))
      const job = await service.drive(body.id)
      bodies.push(job.error_code, job.error_message)
      service.engines.unscript()
      service.engines.conduct({ status: 'completed', error: null })
    }
  }
  for (const bad of [
    { seconds: 99 },
    { model: CANARY },
    { aspect_ratio: CANARY },
    { references: { images: [{ file_id: CANARY }] } },
  ]) {
    const asked = videoBody({ model: MODEL, prompt: CANARY, ...bad })
    const { status, body } = await send(service.app, 'POST', '/v1/videos', service.customer, asked)
    assert.ok(status >= 400 && status < 500)
    if (!Object.values(bad).includes(CANARY)) bodies.push(body)
  }
  // A statement that fails quotes the row it failed on.
  const refused = service.app.database.pool.query(
    "update video_jobs set progress = 101 where prompt like '%' || $1 || '%'",
    [CANARY],
  )
  await refused.catch((error: unknown) => log.error('step_failed', { error }))

  assert.deepEqual(Object.keys(await tablesWith(service, CANARY)), ['public.video_jobs'])
  assert.ok(lines.length > 10)
  assert.deepEqual(
    lines.filter((line) => line.includes(CANARY)),
    [],
  )
  assert.ok(!JSON.stringify(bodies).includes(CANARY))
  for (const entry of readdirSync(service.app.dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(CANARY), entry.name)
  }
  assert.deepEqual(await service.app.audit(), {})

  const { data } = (await send(service.app, 'GET', '/v1/videos?limit=100', service.customer)).body
  for (const { id } of data) await send(service.app, 'DELETE', `/v1/videos/${id}`, service.customer)
  assert.deepEqual(await tablesWith(service, CANARY), {}, 'and in none once the jobs are deleted')
  await service.close()
})

test('input and output of a response are kept in the stored response only, and nowhere when it is not stored', async () => {
  const lines: string[] = []
  const log = openLog('debug', { write: (line) => void lines.push(line) })
  const price = 'price_per_million: { input: "1", output: "1" }'
  const more = `chat_models: [{ id: sandbox-1, engine: sandbox, capabilities: [tools, reasoning, structured_outputs], reasoning_efforts: [low], ${price} }]`
  const service = await startPipelineApp({ more }, { log })
  const ask = async (changes: Record<string, unknown>) => {
    const headers = { authorization: `Bearer ${service.customer.key}`, 'content-type': 'application/json' }
    const body = {
      model: 'sandbox-1',
      input: `Where is the ${CANARY}?`,
      instructions: `Speak of ${CANARY}.`,
      ...changes,
    }
    const answer = await fetch(`${service.app.url}/v1/responses`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return /resp_[0-9a-f]{48}/.exec(text)![0]
  }
  for (const stream of [false, true]) await ask({ stream, store: false })
  assert.deepEqual(await tablesWith(service, CANARY), {})

  const tool = { type: 'function', name: CANARY, description: CANARY, parameters: {} }
  const ids = [
    await ask({ metadata: { name: CANARY }, user: CANARY }),
    await ask({ stream: true, tools: [tool], reasoning: { effort: 'low', summary: 'auto' } }),
    await ask({ background: true, tools: [tool], text: { format: { type: 'json_schema', name: CANARY, schema: {} } } }),
  ]
  ids.push(await ask({ previous_response_id: ids[0] }))
  assert.deepEqual(Object.keys(await tablesWith(service, CANARY)).sort(), [
    'public.response_event_batches',
    'public.response_items',
    'public.responses',
  ])
  assert.deepEqual(
    lines.filter((line) => line.includes(CANARY)),
    [],
  )
  for (const id of ids) {
    assert.equal((await send(service.app, 'DELETE', `/v1/responses/${id}`, { key: service.customer.key })).status, 200)
  }
  assert.deepEqual(await tablesWith(service, CANARY), {}, 'and in none once they are deleted')
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})
