import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../support/sources.ts'

/** Source: knip.json, docs/decisions/0030-unused-code.md. */
test('no file, export or package is unused', () => {
  const knip = join(ROOT, 'node_modules', 'knip', 'bin', 'knip.js')
  const { status, stdout, stderr } = spawnSync(process.execPath, [knip, '--no-progress', '--no-config-hints'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
})
