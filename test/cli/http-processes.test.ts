import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir } from '../support/data/data-dir.ts'
import { type Exposition, readExposition, sumOf } from '../support/data/exposition.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { freePort } from '../support/listen.ts'
import { argumentsOf, childrenOf } from '../support/processes.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'
import { waitingService } from './away-database.ts'

/** The HTTP processes of a service, in Linux's process table. */
function httpProcesses(pid: number): number[] {
  return childrenOf(pid).filter((child) => argumentsOf(child).includes('serve'))
}

test('an HTTP process that was killed is replaced and counted; while the database hangs, every process reports it', async (t) => {
  const dir = dataDir()
  const database = await testDatabase()
  const proxy = await postgresProxy(database.url)
  const env = { KINORA_METRICS_PORT: '0', DATABASE_URL: proxy.url }
  const child = startKinora(['serve', '--data-dir', dir.path, '--port', '0', '--workers', '2'], { env })
  t.after(async () => {
    proxy.restore()
    child.kill('SIGTERM')
    await ended(child)
    await proxy.close()
    await dir.remove()
    await database.close()
  })
  const metrics = printed(child, 'stderr', /"url":"([^"]+)"[^\n]*"event":"metrics_listening"/)
  await printed(child, 'stdout', /kinora ready on (\S+)/)
  const url = (await metrics)[1]!
  const scrape = async () => readExposition(await (await fetch(url)).text())
  const restarts = async () => sumOf(await scrape(), 'kinora_http_process_restarts_total')
  assert.equal(await restarts(), 0)
  const healthy = await scrape()
  const died = printed(child, 'stderr', /http_process_died/)
  process.kill(httpProcesses(child.pid!)[0]!, 'SIGKILL')
  await died
  while ((await restarts()) < 1) await pause(20)
  while (httpProcesses(child.pid!).length < 2) await pause(20)
  const limits = (read: Exposition) => sumOf(read, 'kinora_database_connections', { state: 'limit' })
  assert.equal(sumOf(healthy, 'kinora_node_ready'), 1)
  assert.ok(sumOf(healthy, 'process_start_time_seconds') > 0)
  assert.ok(healthy.types.has('kinora_queue_waiting'))
  // The pool of each of the three: the new process answers from when it is ready.
  const before = limits(healthy)
  while (limits(await scrape()) < before) await pause(20)
  proxy.stall()
  let hanging = await scrape()
  // What each process has found is believed for a second.
  while (sumOf(hanging, 'kinora_node_ready') === 1) hanging = await scrape()
  assert.equal(sumOf(hanging, 'kinora_node_state', { part: 'database', state: 'unreachable' }), 1)
  assert.equal(limits(hanging), before)
})

test('while the HTTP processes of a start that had to wait are starting, health checks are answered', async (t) => {
  const port = await freePort()
  const { child, proxy } = await waitingService(t, () => ['--port', String(port), '--workers', '2'])
  const ready = printed(child, 'stdout', /kinora ready on (\S+)/)
  proxy.restore()
  while (httpProcesses(child.pid!).length === 0) await pause(2)
  // They ask the database before they listen.
  proxy.stall()
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  assert.equal(answer.status, 503)
  assert.partialDeepStrictEqual(await answer.json(), { reason: 'migrating' })
  proxy.restore()
  await ready
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
})
