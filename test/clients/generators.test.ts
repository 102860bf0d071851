import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { ROOT } from '../support/sources.ts'
import { commandOf, HERE, run, without } from './toolchains/toolchains.ts'

/**
 * Clients that others generate from `/openapi.json`: each is generated and compiled, creates and reads a job, is refused one, chats, reads a
 * stored response, and uploads and downloads a file.
 */
let app: TestApp
let dir: string
let env: { URL_OF: string; KEY: string }
before(async () => {
  app = await startApp({
    config: `
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "1" } }
`,
  })
  env = { URL_OF: app.url, KEY: (await newCustomer(app)).key }
  dir = mkdtempSync(join(tmpdir(), 'kinora-generated-'))
  writeFileSync(join(dir, 'openapi.json'), await (await fetch(`${app.url}/openapi.json`)).text())
})
after(async () => {
  await app?.close()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

const PRINTED = { job: true, refused: 'seconds', said: 'assistant', stored: 'completed', bytes: 'hello' }

test('oapi-codegen (Go)', { skip: without('go', 'oapi-codegen') }, async () => {
  const cwd = folder('oapi-codegen', 'oapi-codegen.go', 'main.go')
  const options = ['-generate', 'types,client', '-package', 'main', '-o', 'client.go', '../openapi.json']
  await run(commandOf('oapi-codegen'), options, { cwd })
  await prints(runGo(cwd))
})

test('openapi-python-client', { skip: without('openapi-python-client') }, async () => {
  const cwd = folder('python-client', 'openapi-python-client.py', 'program.py')
  const options = ['generate', '--path', '../openapi.json', '--output-path', 'client', '--meta', 'none']
  await run(commandOf('openapi-python-client'), options, { cwd })
  await prints(run(commandOf('python'), ['program.py'], { cwd, env }))
})

test('openapi-generator (Python)', { skip: without('openapi-generator') }, async () => {
  const cwd = folder('generator-python', 'openapi-generator.py', 'program.py')
  await openapiGenerator('python', cwd)
  await prints(run(commandOf('python'), ['program.py'], { cwd, env: { ...env, PYTHONPATH: join(cwd, 'client') } }))
})

test('openapi-generator (Go)', { skip: without('go', 'oapi-codegen', 'openapi-generator') }, async () => {
  const cwd = folder('generator-go', 'openapi-generator.go', 'main.go')
  await openapiGenerator('go', cwd)
  // Its own module, and its tests, which need others.
  for (const name of ['go.mod', 'go.sum', 'test']) rmSync(join(cwd, 'client', name), { recursive: true, force: true })
  await prints(runGo(cwd))
})

const TSC = join(ROOT, 'test/clients/openapi/node_modules/typescript/bin/tsc')
const typescript = existsSync(TSC) ? false : 'TypeScript 5 is not installed: npm ci --prefix test/clients/openapi'

test('openapi-generator (TypeScript)', { skip: without('openapi-generator') || typescript }, async () => {
  const cwd = folder('generator-typescript', 'openapi-generator.ts.txt', 'program.ts')
  await openapiGenerator('typescript-fetch', cwd)
  const target = ['--target', 'es2022', '--lib', 'es2022,dom', '--module', 'commonjs', '--outDir', 'compiled']
  await run(process.execPath, [TSC, '--strict', '--skipLibCheck', ...target, 'program.ts'], { cwd })
  await prints(run(process.execPath, ['compiled/program.js'], { cwd, env }))
})

/** As the module `kinora`, with what `install.sh` has fetched. */
async function runGo(cwd: string): Promise<string> {
  const imports = join(commandOf('oapi-codegen'), '../imports')
  const module = readFileSync(join(imports, 'go.mod'), 'utf8')
  writeFileSync(join(cwd, 'go.mod'), module.replace(/^module .*/, 'module kinora'))
  copyFileSync(join(imports, 'go.sum'), join(cwd, 'go.sum'))
  return run('go', ['run', '-mod=mod', '.'], { cwd, env })
}

async function openapiGenerator(generator: string, cwd: string): Promise<void> {
  // Without it, the Go client reads a union by trying each of its shapes.
  const settings = generator === 'go' ? ['--additional-properties=useOneOfDiscriminatorLookup=true'] : []
  const options = ['generate', '-g', generator, '-i', '../openapi.json', '-o', 'client', ...settings]
  await run(commandOf('openapi-generator'), options, { cwd })
}

/** A folder with this program under this name. */
function folder(name: string, program: string, as: string): string {
  const cwd = mkdtempSync(join(dir, `${name}-`))
  copyFileSync(join(HERE, program), join(cwd, as))
  return cwd
}

async function prints(output: Promise<string>): Promise<void> {
  assert.deepEqual(JSON.parse(await output), PRINTED)
}
