import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir } from '../support/data/data-dir.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { signInAs } from '../support/http/people.ts'

const dirs: Array<() => Promise<void>> = []
const databases: Array<() => Promise<void>> = []
after(async () => {
  for (const remove of dirs) await remove()
  for (const close of databases) await close()
})
function newDir() {
  const dir = dataDir()
  dirs.push(dir.remove)
  return dir
}

/** The environment of a service on a database that no service has used. */
async function newDatabase(): Promise<{ DATABASE_URL: string }> {
  const { url, close } = await testDatabase()
  databases.push(close)
  return { DATABASE_URL: url }
}

/** A port that another program listens on. */
async function busyPort(): Promise<{ port: number; free(): Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address() as { port: number }
  return { port: address.port, free: () => new Promise((resolve) => server.close(() => resolve())) }
}

for (const workers of ['1', '2']) {
  test(`a busy port on the first run is answered in one sentence and loses nothing: the next start makes the owner, with ${workers} HTTP processes`, async () => {
    const dir = newDir()
    // One of the two makes its database as well.
    const env = workers === '1' ? {} : await newDatabase()
    const busy = await busyPort()
    const args = ['serve', '--data-dir', dir.path, '--port', String(busy.port), '--workers', workers]
    const refused = await ended(startKinora(args, { env }))
    assert.equal(refused.code, 1)
    const words = refused.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
    assert.equal(words.length, 1, refused.stderr)
    assert.match(words[0]!, new RegExp(`^kinora: Port ${busy.port} of 127\\.0\\.0\\.1 is in use .*--port`))
    assert.equal(existsSync(join(dir.path, 'first-run.json')), false)
    await busy.free()

    const child = startKinora(args, { env })
    await printed(child, 'stdout', /kinora ready on/)
    const run = dir.firstRun()
    assert.equal((await signInAs({ url: run.base_url }, run.email, run.password)).status, 200)
    child.kill('SIGTERM')
    await ended(child)
  })
}

for (const point of ['first_run_written', 'first_run_committed']) {
  test(`killed at ${point}: the next start has a first-run.json that signs in, and no other file of the first run`, async () => {
    const dir = newDir()
    const env = await newDatabase()
    const args = ['serve', '--data-dir', dir.path, '--port', '0']
    await ended(startKinora(args, { env: { ...env, KINORA_FAILPOINT: point } }))
    const child = startKinora(args, { env })
    const [, url] = await printed(child, 'stdout', /kinora ready on (\S+)/)
    const run = dir.firstRun()
    assert.equal((await signInAs({ url: url! }, run.email, run.password)).status, 200)
    assert.deepEqual(
      readdirSync(dir.path).filter((name) => name.startsWith('first-run')),
      ['first-run.json'],
    )
    child.kill('SIGTERM')
    await ended(child)
  })
}
