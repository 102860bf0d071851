import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ended, printed, runCommand, startKinora } from '../support/command.ts'
import { dataDir, type TestDir } from '../support/data/data-dir.ts'
import { type TestDatabase, testDatabase } from '../support/data/postgres.ts'

const file = () => join(dir.path, 'kinora.yaml')
const env = () => ({ DATABASE_URL: database.url })

let dir: TestDir
let database: TestDatabase
let child: ReturnType<typeof startKinora>
let url: string
let key: string
/** What the service has logged. */
let log = ''
before(async () => {
  dir = dataDir()
  database = await testDatabase()
  write({ name: 'First' })
  child = startKinora(['serve', '--data-dir', dir.path, '--config', file(), '--port', '0', '--workers', '2'], {
    env: env(),
  })
  child.stderr!.on('data', (chunk) => (log += chunk))
  url = (await printed(child, 'stdout', /kinora ready on (\S+)/))[1]!
  key = dir.firstRun().api_key
})
after(async () => {
  child.kill('SIGTERM')
  await ended(child)
  await dir.remove()
  await database.close()
})

function write({ name, more = '' }: { name: string; more?: string }): void {
  const chat = `[{ id: writer, name: ${name}, engine: sandbox, price_per_million: { input: "1.00", output: "2.00" } }]`
  writeFileSync(file(), `chat_models: ${chat}\n${more}`)
}

/** The name that answers have for the model, asked over connections of their own so that every process is among them. */
async function names(): Promise<string[]> {
  const asked = Array.from({ length: 16 }, async () => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const answer = await fetch(`${url}/v1/models/writer`, { headers })
    return ((await answer.json()) as { name: string }).name
  })
  return [...new Set(await Promise.all(asked))]
}

const logged = async (pattern: RegExp) => pattern.test(log) || (await printed(child, 'stderr', pattern))

async function adminReload() {
  const ran = await runCommand(['admin', 'reload', '--json', '--data-dir', dir.path], env())
  const { processes, missing } = JSON.parse(ran.stdout)
  const results = processes.map(({ result }: { result: string }) => result)
  return { code: ran.code, results, missing, processes }
}

test('kinora admin reload reaches the first process and both HTTP processes, and says what changed', async () => {
  assert.deepEqual(await names(), ['First'])
  write({ name: 'Second' })
  const { code, results, missing, processes } = await adminReload()
  assert.deepEqual([code, results, missing], [0, ['applied', 'applied', 'applied'], 0])
  assert.deepEqual(processes[0].details, ['chat_models.writer.name'])
  assert.equal(new Set(processes.map(({ pid }: { pid: number }) => pid)).size, 3)
  assert.deepEqual(await names(), ['Second'])
  assert.deepEqual((await adminReload()).results, ['unchanged', 'unchanged', 'unchanged'])
})

test('a mistake changes nothing: exit code 1 with the mistake and its line, in every process', async () => {
  write({ name: 'Third', more: 'plans: { free: { max_concurrent_render: 3 } }\n' })
  const { code, results, processes } = await adminReload()
  assert.deepEqual([code, results], [1, ['refused', 'refused', 'refused']])
  assert.match(processes[0].details.join('\n'), /kinora\.yaml:2 plans\.free\.max_concurrent_render/)
  assert.deepEqual(await names(), ['Second'])
  await logged(/configuration_refused/)
})

test('SIGHUP reloads, and logs what changed by name', async () => {
  write({ name: 'Fourth' })
  const reloaded = printed(child, 'stderr', /"event":"configuration_reloaded"/)
  child.kill('SIGHUP')
  await reloaded
  assert.deepEqual(await names(), ['Fourth'])
})

test('an HTTP process that replaces a dead one starts with the newest settings', async () => {
  write({ name: 'Fifth' })
  const { processes } = await adminReload()
  const others = processes.map(({ pid }: { pid: number }) => pid).filter((pid: number) => pid !== child.pid)
  const died = printed(child, 'stderr', /http_process_died/)
  process.kill(others[0], 'SIGKILL')
  await died
  assert.deepEqual(await names(), ['Fifth'])
  write({ name: 'Sixth' })
  await adminReload()
  assert.deepEqual(await names(), ['Sixth'])
})

test('kinora admin log shows who asked for a reload and what each node changed', async () => {
  const ran = await runCommand(['admin', 'log', '--json', '--data-dir', dir.path], env())
  const { data } = JSON.parse(ran.stdout) as { data: Array<Record<string, string>> }
  const user = spawnSync('id', ['-un'], { encoding: 'utf8' }).stdout.trim()
  const found = data.find(({ action, target }) => action === 'configuration.change' && target !== null)!
  assert.deepEqual([found.who!.split('@')[0], found.details], [user, '{"changed":["chat_models.writer.name"]}'])
  assert.ok(data.some(({ action, target }) => action === 'configuration.reload' && target === found.target))
})
