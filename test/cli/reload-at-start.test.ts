import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { printed } from '../support/command.ts'
import { waitingService } from './away-database.ts'

test('a start takes up what changed in the file while it waited, and reloads for a SIGHUP that came meanwhile', async (t) => {
  const fileIn = (data_dir: string) => join(data_dir, 'kinora.yaml')
  const write = (data_dir: string, name: string) =>
    writeFileSync(
      fileIn(data_dir),
      `chat_models: [{ id: writer, name: ${name}, engine: sandbox, price_per_million: { input: "1.00", output: "2.00" } }]\n`,
    )
  const { dir, child, proxy } = await waitingService(t, (data_dir) => {
    write(data_dir, 'First')
    return ['--config', fileIn(data_dir), '--port', '0', '--workers', '2']
  })
  const ready = printed(child, 'stdout', /kinora ready on (\S+)/)
  const [reloaded, unchanged] = [/configuration_reloaded/, /configuration_unchanged/].map((each) =>
    printed(child, 'stderr', each),
  )
  write(dir.path, 'Second')
  child.kill('SIGHUP')
  proxy.restore()
  const url = (await ready)[1]
  await reloaded
  const headers = { authorization: `Bearer ${dir.firstRun().api_key}` }
  const answer = await fetch(`${url}/v1/models/writer`, { headers })
  assert.equal(((await answer.json()) as { name: string }).name, 'Second')
  await unchanged
})
