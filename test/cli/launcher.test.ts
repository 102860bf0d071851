import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { ended, KINORA, printed } from '../support/command.ts'
import { dataDir } from '../support/data/data-dir.ts'

/** Has `bin/kinora.js` start the service in another process, as it does under a Node that is too old. */
const OLD_NODE = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})`

test('a service whose launcher is killed stops by itself, as after SIGTERM', async () => {
  const dir = dataDir()
  await dir.prepare()
  const args = ['--import', OLD_NODE, KINORA, 'serve', '--port', '0', '--data-dir', dir.path]
  const launcher = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  // Both streams close once the service has ended too.
  const all = ended(launcher)
  const [, url] = await printed(launcher, 'stdout', /kinora ready on (\S+)/)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  launcher.kill('SIGKILL')
  assert.match((await all).stderr, /"event":"stopping"/)
  await assert.rejects(fetch(`${url}/healthz`))
  await dir.remove()
})
