import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir } from '../support/data/data-dir.ts'
import { freePort } from '../support/free-port.ts'
import { waitingService } from '../support/sites/away-database.ts'

/** The HTTP processes of a service, in Linux's process table. */
function httpProcesses(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.map(Number).filter((child) => /\bserve\b/.test(readFileSync(`/proc/${child}/cmdline`, 'utf8')))
}

test('an HTTP process that was killed is replaced and counted', async (t) => {
  const dir = dataDir()
  const env = { KINORA_METRICS_PORT: '0' }
  const child = startKinora(['serve', '--data-dir', dir.path, '--port', '0', '--workers', '2'], { env })
  t.after(async () => {
    child.kill('SIGTERM')
    await ended(child)
    await dir.remove()
  })
  const metrics = printed(child, 'stderr', /"url":"([^"]+)"[^\n]*"event":"metrics_listening"/)
  await printed(child, 'stdout', /kinora ready on (\S+)/)
  const url = (await metrics)[1]!
  const restarts = async () =>
    Number(/^kinora_http_process_restarts_total (\d+)/m.exec(await (await fetch(url)).text())?.[1])
  assert.equal(await restarts(), 0)
  const died = printed(child, 'stderr', /http_worker_died/)
  process.kill(httpProcesses(child.pid!)[0]!, 'SIGKILL')
  await died
  while ((await restarts()) < 1) await pause(20)
  while (httpProcesses(child.pid!).length < 2) await pause(20)
})

test('while the HTTP processes of a start that had to wait are starting, health checks are answered', async (t) => {
  const port = await freePort()
  const { child, proxy } = await waitingService(t, () => ['--port', String(port), '--workers', '2'])
  const ready = printed(child, 'stdout', /kinora ready on (\S+)/)
  proxy.mend()
  let found: number[] = []
  while (found.length === 0) {
    found = httpProcesses(child.pid!)
    await pause(2)
  }
  process.kill(found[0]!, 'SIGSTOP')
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  process.kill(found[0]!, 'SIGCONT')
  assert.equal(answer.status, 503)
  await ready
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
})
