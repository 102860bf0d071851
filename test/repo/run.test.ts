import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../support/sources.ts'

test('npm test ends with what it skipped, each with its reason and how often', (t) => {
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
  assert.match(end, /^# Skipped: 6\n/)
  assert.match(end, /^ {2}3 · no teapot: brew install teapot$/m)
  assert.match(end, /^ {2}1 · no kettle: buy one$/m)
  assert.match(end, /^ {2}1 · without a word: no reason given$/m)
  assert.match(end, /^ {2}1 · test files on another PostgreSQL: unset KINORA_TEST_ONCE$/m)
})

test('npm test names no skips when there are none, and fails when a test fails', (t) => {
  const files = { 'a.test.ts': "import { test } from 'node:test'\ntest('fails', () => { throw new Error('no') })" }
  const { stdout, status } = run(t, files, { KINORA_TEST_ONCE: undefined })
  assert.equal(status, 1)
  assert.ok(!stdout.includes('# Skipped'), stdout)
})

test('a file that does not end is ended with what it started, and fails by its name', (t) => {
  const files = {
    'left-open.test.ts': `
      import { spawn } from 'node:child_process'
      import { test } from 'node:test'
      test('leaves a process', () => void spawn('sleep', ['3600'], { stdio: ['ignore', 'inherit', 'inherit'] }))`,
    'loop.test.ts': "import { test } from 'node:test'\ntest('loops', () => { for (;;); })",
  }
  const { stdout, status } = run(t, files, { KINORA_TEST_FILE_SECONDS: '2' })
  assert.equal(status, 1)
  for (const name of Object.keys(files)) {
    assert.match(stdout, new RegExp(`${name} has not ended in 2 s`))
    assert.match(stdout.slice(stdout.lastIndexOf('# Failed')), new RegExp(name))
  }
})

/** `npm test` on these files alone, as from a shell. */
function run(t: TestContext, files: Record<string, string>, env: Record<string, string | undefined> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-run-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env
  return spawnSync(process.execPath, [join(ROOT, 'test/run.ts'), ...Object.keys(files)], {
    cwd: dir,
    env: { ...outer, KINORA_TEST_ONCE: '1', ...env },
    encoding: 'utf8',
  })
}
