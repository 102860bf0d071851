import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ended, printed } from '../support/command.ts'
import { samplePdf } from '../support/data/pdf.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { ROOT } from '../support/sources.ts'

type Lock = { packages: Record<string, { version?: string; dev?: boolean; integrity?: string }> }

/** Below a `node_modules`, where Node strips no types, and where the packages of this checkout are found. */
const CACHE = join(ROOT, 'node_modules', '.cache')
mkdirSync(CACHE, { recursive: true })
const dir = mkdtempSync(join(CACHE, 'kinora-package-'))
const home = join(dir, 'kinora')
let files: string[]
before(() => {
  const pack = [join(ROOT, 'dev', 'pack.ts'), '--to', dir]
  const tarball = execFileSync(process.execPath, pack, { encoding: 'utf8', stdio: 'pipe' }).trim()
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['xzf', tarball, '-C', home, '--strip-components', '1'])
  files = globSync('**/*.*', { cwd: home })
})
after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))

test('the package has program, console, migrations, documents and licence; no source, no test and no data', () => {
  const needed = ['bin/kinora.js', 'server/main.js', 'console/dist/index.html', 'docs/operating.md', 'README.md']
  const migrations = globSync('server/migrations/*.sql', { cwd: ROOT })
  assert.ok(migrations.length > 0)
  assert.deepEqual(
    [...needed, ...migrations].filter((path) => !files.includes(path)),
    [],
  )
  assert.ok(existsSync(join(home, 'LICENSE')) && existsSync(join(home, 'NOTICE')))
  const allowed = /^(bin|server|console\/dist|docs|deploy|examples)\/|^[\w-]+\.(md|json)$/
  const wrong = files.filter(
    (path) => !allowed.test(path) || /\.tsx?$|\.test\.|(^|\/)\.|first-run\.json|\.log$/.test(path),
  )
  assert.deepEqual(wrong, [])
})

test('every file that the program imports, forks or reads beside itself is in the package', () => {
  const wrong = files
    .filter((path) => /^server\/.*\.js$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(join(home, path), 'utf8')
      const beside = [...text.matchAll(/new URL\('([^']+)', import\.meta\.url\)/g)].map(([, name]) => name!)
      return [...importsOf(text), ...beside]
        .filter((name) => name.startsWith('.') && !existsSync(join(home, dirname(path), name)))
        .map((name) => `${path}: ${name}`)
    })
  assert.deepEqual(wrong, [])
})

test('its lock file has the versions that are tested here, with checksums, and nothing of development', () => {
  const lock = JSON.parse(readFileSync(join(home, 'npm-shrinkwrap.json'), 'utf8')) as Lock
  const tested = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  const { '': _, ...packages } = lock.packages
  for (const [path, locked] of Object.entries(packages)) {
    assert.equal(locked.version, tested.packages[path]?.version, path)
    assert.ok(locked.integrity && !locked.dev, path)
  }
  const production = Object.entries(tested.packages).filter(([path, { dev }]) => path !== '' && !dev)
  assert.ok(Object.keys(packages).length > production.length / 2)
})

test('it serves the console and the API, and draws a PDF in its locked child', async () => {
  const database = await testDatabase()
  const args = [join(home, 'bin', 'kinora.js'), 'serve', '--port', '0', '--data-dir', join(dir, 'data')]
  const env = { PATH: process.env.PATH, HOME: dir, DATABASE_URL: database.url }
  const child = spawn(process.execPath, args, { env, cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
  const all = ended(child)
  try {
    const [, url] = await printed(child, 'stdout', /kinora ready on (\S+)/)
    for (const path of ['/', '/docs', '/healthz', '/openapi.json'])
      assert.equal((await fetch(`${url}${path}`)).status, 200, path)
    const run = JSON.parse(readFileSync(join(dir, 'data', 'first-run.json'), 'utf8'))
    const form = new FormData()
    form.set('purpose', 'user_data')
    form.set('file', new Blob([samplePdf()], { type: 'application/pdf' }), 'a.pdf')
    const headers = { authorization: `Bearer ${run.api_key}` }
    const uploaded = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form })
    assert.equal(uploaded.status, 200, await uploaded.text())
  } finally {
    child.kill('SIGTERM')
    await all
    await database.close()
  }
  const { renderPdf } = await import(pathToFileURL(join(home, 'server', 'media', 'pdf', 'render.js')).href)
  assert.equal((await renderPdf(samplePdf(2))).length, 2)
})

/** Modules a file imports or loads, as written. */
function importsOf(text: string): string[] {
  const named = text.matchAll(/^(?:import|export|\}).*\bfrom ['"]([^'"]+)['"]/gm)
  const bare = text.matchAll(/^import ['"]([^'"]+)['"]/gm)
  const loaded = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)
  return [...named, ...bare, ...loaded].map(([, name]) => name!)
}
