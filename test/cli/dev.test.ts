import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { watchService } from '../../dev/watch.ts'
import { CLIENT_PATHS } from '../../server/console/assets.ts'
import { ended, printed } from '../support/command.ts'
import { ROOT } from '../support/sources.ts'

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

let dir: string
let dev: ChildProcess
let url: string
let stdout = ''
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kinora-dev-'))
  const [, ...script] = manifest.scripts.dev.split(' ')
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR }
  dev = spawn(process.execPath, [...script, '--port', '0', '--data-dir', dir], { cwd: ROOT, env })
  dev.stdout!.on('data', (chunk) => (stdout += chunk))
  dev.stderr!.resume()
  url = (await printed(dev, 'stdout', /kinora dev on (\S+)\n/))[1]!
})
/** One address was printed, and one signal ends all of it, the database last. */
after(async () => {
  const gone = ended(dev)
  dev.kill('SIGTERM')
  assert.equal((await gone).code, 0)
  assert.deepEqual(stdout.match(/https?:\/\/127\.0\.0\.1:\d+/g), [url])
  await assert.rejects(get('/healthz'))
  assert.ok(!existsSync(join(dir, 'postgres', 'cluster', 'postmaster.pid')))
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
})

const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers })

test('npm run dev: the console is served from its sources with hot module replacement', async () => {
  for (const path of ['/', ...CLIENT_PATHS]) {
    const page = await get(path, { accept: 'text/html' })
    assert.equal(page.status, 200, path)
    assert.match(await page.text(), /\/@vite\/client/, path)
  }
  const module = await get('/shell/shell.tsx')
  assert.match(module.headers.get('content-type')!, /javascript/)
  assert.match(await module.text(), /import\.meta\.hot/)
})

test('npm run dev: requests to routes of the service reach the service, at the same address', async () => {
  const { paths } = (await (await get('/openapi.json')).json()) as { paths: Record<string, Record<string, unknown>> }
  const asked = ['/docs', '/terms', '/healthz', '/readyz', ...Object.keys(paths).filter((path) => paths[path]!.get)]
  assert.ok(asked.length > 20)
  for (const path of asked) {
    const { status, headers, body } = await get(path.replaceAll(/\{\w+\}/g, 'x'), { accept: 'text/html' })
    await body?.cancel()
    assert.match(headers.get('x-request-id') ?? '', /^req_/, path)
    assert.ok(status < 500, path)
  }
})

test('npm run dev: first-run.json names that address, where signing in and WebSockets work', async () => {
  const { base_url, email, password, api_key } = JSON.parse(readFileSync(join(dir, 'first-run.json'), 'utf8'))
  assert.equal(base_url, url)
  const site = (await (await get('/console/site')).json()) as { public_url: string }
  assert.equal(site.public_url, url)
  const signed = await fetch(`${url}/console/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ email, password }),
  })
  assert.equal(signed.status, 200, await signed.text())
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${api_key}` },
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.close()
})

test('npm run dev: the service restarts when one of its files changes, and stops when asked to', async () => {
  const starts = createServer().listen(0, '127.0.0.1')
  await once(starts, 'listening')
  const { port } = starts.address() as { port: number }
  const script = join(dir, 'changed.mjs')
  const program = `(await import('node:net')).connect(${port}, '127.0.0.1'); console.log('kinora ready on 1')`
  writeFileSync(script, program)
  const first = once(starts, 'connection')
  const service = watchService({ args: [], port, public_url: url, script })
  await Promise.all([first, service.settled()])
  const second = once(starts, 'connection')
  // Nothing reports when watching has started; changes in quick succession count as one.
  const changing = setInterval(() => writeFileSync(script, `${program}\n`), 1000)
  await second
  clearInterval(changing)
  await service.stop()
  starts.close()
})

test('.nvmrc names the Node that comes with the packages', () => {
  const major = manifest.dependencies.node.split('.')[0]
  assert.equal(readFileSync(join(ROOT, '.nvmrc'), 'utf8'), `${major}\n`)
})
