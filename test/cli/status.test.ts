import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDb } from '../../server/platform/db/db.ts'
import { ended, printed, runCommand, startKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { newCustomer, startApp, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'

const CONFIG = `
video_models:
  - id: clip
    per_second: "0.01"
    engines:
      - { name: one, engine: instant, max_renders: 2 }
      - { name: two, engine: instant }
`

// biome-ignore lint/suspicious/noExplicitAny: JSON of the command.
type Status = Record<string, any>

/** What the command prints once it is as asked. */
async function statusWhen(env: NodeJS.ProcessEnv, isSo: (found: Status) => boolean): Promise<Status> {
  for (;;) {
    const { stdout, code, stderr } = await runCommand(['admin', 'status', '--json'], env)
    assert.equal(code, 0, stderr)
    const found = JSON.parse(stdout)
    if (isSo(found)) return found
    await pause(50)
  }
}

test('a service shows its node, database, storage, engines and queues, also on a database that takes no writes; one that hangs is not ready', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const { db, pool, close } = openDb(external.url)
  const config = join(dir.path, 'status.yaml')
  writeFileSync(config, CONFIG)
  const flags = ['--data-dir', dir.path, '--config', config, '--port', '0']
  const child = startKinora(['serve', ...flags], { env: { DATABASE_URL: external.url } })
  t.after(async () => {
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    if (child.exitCode === null) await ended(child)
    await close()
    await external.drop()
    await dir.remove()
  })
  await printed(child, 'stdout', /kinora ready on/)
  const env = { DATABASE_URL: external.url }
  const found = await statusWhen(env, ({ engines, nodes }) => engines.length > 0 && nodes[0]?.state === 'ready')
  const [node] = found.nodes
  assert.deepEqual([found.nodes.length, node.state, node.reason, node.reporting], [1, 'ready', null, 1])
  assert.match(node.migration, /^\d{4}-/)
  assert.equal(node.migration, found.database.migration)
  assert.equal(found.database.read_only, false)
  assert.equal(found.incidents_last_hour, 0)
  assert.deepEqual(found.storage, { kind: 'disk', state: 'ok', processes: 1 })
  assert.deepEqual(
    found.engines
      .filter(({ family }: Status) => family === 'video')
      .map(({ name, slots, breaker }: Status) => [name, slots, breaker]),
    [
      ['clip/one', 2, 'closed'],
      ['clip/two', null, 'closed'],
    ],
  )
  assert.deepEqual(
    found.queues.filter(({ queue }: Status) => queue === 'videos').map(({ state, rows }: Status) => [state, rows]),
    ['moderating', 'translating', 'queued', 'in_progress'].map((state) => [state, 0]),
  )

  await pool.query(`alter database ${new URL(external.url).pathname.slice(1)} set default_transaction_read_only = on`)
  const plain = await runCommand(['admin', 'status'], env)
  assert.equal(plain.code, 0, plain.stderr)
  assert.match(plain.stdout, /READ-ONLY/)
  const wide = plain.stdout.split('\n').filter((line) => line.length > 100)
  assert.deepEqual(wide, [])
  await pool.query(`alter database ${new URL(external.url).pathname.slice(1)} reset default_transaction_read_only`)

  child.kill('SIGSTOP')
  await db
    .updateTable('process_states')
    .set({ reported_at: new Date(Date.now() - 60_000) })
    .execute()
  await statusWhen(env, ({ nodes }) => nodes[0].state === 'silent')
  await db
    .updateTable('nodes')
    .set({ seen_at: new Date(Date.now() - 60_000) })
    .execute()
  const { data } = JSON.parse((await runCommand(['admin', 'nodes', '--json'], env)).stdout)
  assert.equal(data[0].state, 'silent')
})

test('organizations that are refused, the oldest job, and an engine that fails are shown with their reasons', async (t) => {
  const service = await startApp()
  t.after(() => service.close())
  const config = `
chat_models: [{ id: gone, price_per_million: { input: "1", output: "1" }, engine: { kind: openai, base_url: "http://127.0.0.1:1/v1" } }]
video_models: [{ id: instant-1, engine: instant, per_second: "0.01" }]
`
  const node = await startApp({ beside: service, config, node_id: 'node_status' })
  const [rich, poor] = [await newCustomer(node), await newCustomer(node, { balance: 1n })]
  const first = await send(node, 'POST', '/v1/videos', rich, videoBody())
  await send(node, 'POST', '/v1/videos', rich, videoBody())
  for (let n = 0; n < 3; n++) assert.equal((await send(node, 'POST', '/v1/videos', poor, videoBody())).status, 402)
  const body = { model: 'gone', messages: [{ role: 'user', content: 'Hi' }] }
  for (let n = 0; n < 3; n++)
    assert.ok((await send(node, 'POST', '/v1/chat/completions', { key: rich.key }, body)).status >= 502)

  const env = { DATABASE_URL: service.database.url }
  const found = await statusWhen(env, ({ engines }) => engines.some(({ failures }: Status) => failures >= 3))
  const moderating = found.queues.find(({ state }: Status) => state === 'moderating')
  assert.deepEqual([moderating.rows, moderating.oldest_id], [2, first.body.id])
  const gone = found.engines.find(({ name }: Status) => name === 'gone')
  assert.equal(gone.failing_processes, 1)
  assert.ok(gone.last_error.length > 0 && Date.parse(gone.failing_since) > 0)
  assert.deepEqual(
    found.incidents.map(({ subject }: Status) => subject),
    ['engine gone'],
  )

  await node.close()
  const after = await statusWhen(env, ({ refusals }) => refusals.length > 0)
  const refused = after.refusals.map(({ org_id, code, count }: Status) => [org_id, code, count])
  assert.deepEqual(refused.sort(), [
    [rich.org_id, 'server_is_overloaded', 3],
    [poor.org_id, 'insufficient_credits', 3],
  ])
  assert.deepEqual(after.engines, [], 'a process that has stopped reports nothing')
})
