import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { newCustomer, startApp } from '../support/http/app.ts'
import { submit } from '../support/http/videos-app.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

const NODE = join(import.meta.dirname, 'node.ts')

test('a render of a node that was killed is followed by another node before its lease ends, and is not started again', async (t) => {
  const engines = await startEngineServer()
  const config = `
plans: { free: {} }
video_models:
  - { id: outside-1, engine: { kind: videos-api, dialect: openai, base_url: "${engines.url}", model: wan }, per_second: "0.010000" }
`
  const first = await startApp({ config })
  const { database, dir, secret } = first
  const child = spawn(
    process.execPath,
    [NODE, JSON.stringify({ config, beside: { database: { url: database.url }, dir, secret } })],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  engines.conduct({ polls: 1e9 })
  const customer = await newCustomer(first)
  const { id } = (await submit(first, customer, { model: 'outside-1' })).body
  const row = async () =>
    (await database.pool.query('select *, now() as read_at from video_jobs where id = $1', [id])).rows[0]
  const until = async (holds: (job: Awaited<ReturnType<typeof row>>) => boolean) => {
    for (;;) {
      const job = await row()
      if (holds(job)) return job
      await pause(10)
    }
  }
  const { claim_id: dead } = await until(({ status, claim_id }) => status === 'in_progress' && claim_id !== null)
  const second = await startApp({ config, beside: first, background: true })
  t.after(async () => {
    await second.close()
    await first.close()
    await engines.close()
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  // From here on nobody renews it.
  const { claimed_until: lease_end } = await row()
  // It would be polled again only after five seconds.
  await database.pool.query('update video_jobs set next_run_at = now() where id = $1', [id])
  const { read_at } = await until(({ claim_id }) => claim_id !== dead)
  assert.ok(read_at < lease_end, 'before its lease ended')
  const followed = await until(({ claim_id }) => claim_id !== null && claim_id !== dead)
  assert.deepEqual([followed.status, engines.started()], ['in_progress', 1])
})
