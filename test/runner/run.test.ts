import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../support/sources.ts'
import * as tiers from '../tiers.ts'
import { passesOf } from './passes.ts'
import { inRandomOrder, testFilesOf } from './select-files.ts'

test('a run ends with its counts, and with what it skipped, each with its reason and how often', (t) => {
  const { stdout, status } = run(t, {
    'test/flow/a.test.ts': `
      import { test } from 'node:test'
      test('runs', () => {})
      for (const n of [1, 2]) test('left out ' + n, { skip: 'no teapot: brew install teapot' }, () => {})
      test('inside', async (t) => { await t.test('deeper', (t) => t.skip('no kettle: buy one')) })
      test('without a word', { skip: true }, () => {})`,
    'b.test.ts': `
      import { test } from 'node:test'
      test('once more', { skip: 'no teapot: brew install teapot' }, () => {})
      test('to do is not skipped', { todo: 'later' }, () => {})`,
  })
  assert.equal(status, 0, stdout)
  const end = stdout.slice(stdout.lastIndexOf('# Skipped'))
  assert.match(end, /^# Skipped: 5\n/)
  assert.match(end, /^ {2}3 · no teapot: brew install teapot$/m)
  assert.match(end, /^ {2}1 · no kettle: buy one$/m)
  assert.match(end, /^ {2}1 · without a word: no reason given$/m)
  assert.match(stdout, /^3 passed, 0 failed, 5 skipped\n$/m)
})

test('a run fails by the name of each test, hook, import, process and open server that fails', (t) => {
  const { stdout, status } = run(t, {
    'assertion.test.ts':
      "import { test } from 'node:test'\ntest('fails', () => { throw new Error('no tea', { cause: new Error('no water') }) })",
    'hook.test.ts':
      "import { after, test } from 'node:test'\nafter(() => { throw new Error('no cups') })\ntest('passes', () => {})",
    'import.test.ts': "import './missing.ts'",
    'exits.test.ts': "import { test } from 'node:test'\ntest('ends the process', () => process.exit(3))",
    'background.test.ts': `import { test } from 'node:test'
      test('throws in a timer', () => new Promise(() => setTimeout(() => { throw new Error('no milk') })))
      test('rejects beside', () => new Promise(() => void Promise.reject(new Error('no sugar'))))`,
    'server.test.ts':
      "import { createServer } from 'node:net'\nimport { test } from 'node:test'\ntest('leaves a server', () => void createServer().listen(0))",
    'good.test.ts': "import { test } from 'node:test'\ntest('is right', () => {})",
  })
  assert.equal(status, 1)
  assert.doesNotMatch(stdout, /# Skipped/)
  const end = stdout.slice(stdout.lastIndexOf('# Failed'))
  assert.match(end, /assertion\.test\.ts:2 fails\n +Error: no tea\n(?: +at .*\n)* +caused by Error: no water/)
  assert.match(end, /hook\.test\.ts[^\n]*\n +Error: no cups/)
  assert.match(end, /import\.test\.ts[^\n]*\n[^\n]*missing\.ts/)
  assert.match(end, /exits\.test\.ts ended its process \(3\)/)
  assert.match(end, /background\.test\.ts:2 throws in a timer\n +Error: no milk/)
  assert.match(end, /background\.test\.ts:3 rejects beside\n +Error: no sugar/)
  assert.match(end, /server\.test\.ts left open: 1 servers/)
  assert.match(end, /^3 passed, 7 failed, 0 skipped\n$/m)
})

test('files that share a process have hooks and an environment of their own', (t) => {
  const file = (name: string) => `
    import assert from 'node:assert/strict'
    import { beforeEach, test } from 'node:test'
    const before = process.env.SHARED
    beforeEach(() => { process.env.SHARED = (process.env.SHARED ?? '') + '${name}' })
    test('sees its own', () => { assert.deepEqual([before, process.env.SHARED], [undefined, '${name}']) })`
  const hooks = `
    import assert from 'node:assert/strict'
    import { createHook } from 'node:async_hooks'
    import { test } from 'node:test'
    test('follows promises where it asks to', () => {
      let promises = 0
      const hook = createHook({ init: (_, type) => { promises += Number(type === 'PROMISE') } })
      hook.enable()
      void Promise.resolve()
      hook.disable()
      assert.equal(promises, 1)
    })`
  const files = { 'a.test.ts': file('a'), 'b.test.ts': file('b'), 'c.test.ts': file('c'), 'hooks.test.ts': hooks }
  const { stdout, status } = run(t, files)
  assert.equal(status, 0, stdout)
})

test('a file that does not end is ended with what it started, and fails by its name', (t) => {
  const files = {
    'hangs.test.ts': `
      import { spawn } from 'node:child_process'
      import { test } from 'node:test'
      test('waits for ever', () => { spawn('sleep', ['3600']); return new Promise(() => setInterval(() => {}, 1000)) })`,
    'loop.test.ts': "import { test } from 'node:test'\ntest('loops', () => { for (;;); })",
  }
  const { stdout, status } = run(t, files, { KINORA_TEST_FILE_SECONDS: '1' })
  assert.equal(status, 1)
  for (const name of Object.keys(files))
    assert.match(stdout.slice(stdout.lastIndexOf('# Failed')), new RegExp(`${name} has not ended in 1 s`))
})

test('files and folders select tests, those of installed packages are not ours, and a name that matches none is refused', (t) => {
  const dir = made(t, {
    'console/e.test.ts': '',
    'test/a.test.ts': '',
    'test/http/b.test.ts': '',
    'test/clients/x/node_modules/y/c.test.ts': '',
    'server/d.test.ts': '',
  })
  const names = (...args: string[]) => testFilesOf(args, dir)
  assert.deepEqual(names(), ['console/e.test.ts', 'server/d.test.ts', 'test/a.test.ts', 'test/http/b.test.ts'])
  assert.deepEqual(names('./test/'), ['test/a.test.ts', 'test/http/b.test.ts'])
  assert.deepEqual(names('test/http', 'test/http/b.test.ts'), ['test/http/b.test.ts'])
  assert.throws(() => names('test/htpp'), /There is no test file test\/htpp/)
})

test('a random order has every file once, and the same seed gives the same order', () => {
  const files = Array.from({ length: 50 }, (_, i) => `${i}.test.ts`)
  assert.deepEqual(inRandomOrder(files, 7), inRandomOrder(files, 7))
  assert.notDeepEqual(inRandomOrder(files, 7), inRandomOrder(files, 8))
  assert.deepEqual([...inRandomOrder(files, 7)].sort(), [...files].sort())
})

test('check runs files once more where the database decides, and with a bucket where the storage decides; npm test runs none twice', () => {
  const files = [
    'test/flow/cancel.test.ts',
    'test/flow/variants.test.ts',
    'test/laws/model.test.ts',
    'test/repo/x.test.ts',
  ]
  const [both, storage, database] = files
  const passes = (check: boolean, env: NodeJS.ProcessEnv = {}) =>
    passesOf(files, { check, env: { TEST_DATABASE_URL: 'postgres://elsewhere/x', ...env } }).passes.map((pass) => [
      pass.env.KINORA_TEST_STORAGE ?? 'disk',
      ...pass.files,
    ])
  assert.deepEqual(passes(false), [['disk', ...files]])
  assert.deepEqual(passes(true), [
    ['disk', ...files],
    ['s3', both, storage],
    ['disk', database, both],
  ])
  assert.deepEqual(passes(true, { KINORA_TEST_ALL: '1' }).at(-1), ['disk', database, both, storage, files[3]])
})

test('every rule about test files names one that is there', () => {
  const files = testFilesOf([], ROOT)
  const rules = tiers.CHECK_ONLY.map((rule) => rule.files)
  const idle = [...rules, tiers.ON_OTHER_DATABASES, tiers.ON_BUCKET].filter(
    (rule) => !files.some((path) => rule.test(path)),
  )
  assert.deepEqual(idle, [])
})

/** `npm test` on these files alone, as from a shell. */
function run(t: TestContext, files: Record<string, string>, env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [join(ROOT, 'test/run.ts'), ...Object.keys(files)], {
    cwd: made(t, files),
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
}

function made(t: TestContext, files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-run-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  return dir
}
