import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

test('a start takes up what changed in the file while it waited, and reloads for a SIGHUP that came meanwhile', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const proxy = await postgresProxy(external.url)
  const file = join(dir.path, 'kinora.yaml')
  const write = (name: string) =>
    writeFileSync(
      file,
      `chat_models: [{ id: writer, name: ${name}, engine: sandbox, price_per_million: { input: "1.00", output: "2.00" } }]\n`,
    )
  write('First')
  proxy.cut()
  const args = ['serve', '--data-dir', dir.path, '--config', file, '--port', '0', '--workers', '2']
  const child = startKinora(args, { env: { DATABASE_URL: proxy.url } })
  t.after(async () => {
    child.kill('SIGTERM')
    await ended(child)
    await proxy.close()
    await external.drop()
    await dir.remove()
  })
  await printed(child, 'stderr', /waiting_for_database/)
  const ready = printed(child, 'stdout', /kinora ready on (\S+)/)
  const [reloaded, unchanged] = [/configuration_reloaded/, /configuration_unchanged/].map((each) =>
    printed(child, 'stderr', each),
  )
  write('Second')
  child.kill('SIGHUP')
  proxy.mend()
  const url = (await ready)[1]
  await reloaded
  const headers = { authorization: `Bearer ${dir.firstRun().api_key}` }
  const answer = await fetch(`${url}/v1/models/writer`, { headers })
  assert.equal(((await answer.json()) as { name: string }).name, 'Second')
  await unchanged
})
