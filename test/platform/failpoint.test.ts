import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { armFailpoint, failpoint } from '../../server/platform/failpoint.ts'

test('the n-th pass of the named failpoint, and no other, kills the process with SIGKILL', () => {
  const url = join(import.meta.dirname, '../../server/platform/failpoint.ts')
  const script = `const { failpoint } = await import(${JSON.stringify(url)})
    for (let i = 1; i <= 3; i++) { failpoint('other'); console.log(i); failpoint('here') }`
  const run = (spec?: string) => {
    const env = { ...process.env, ...(spec ? { KINORA_FAILPOINT: spec } : {}) }
    const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env,
    })
    return { passes: stdout.trim().split('\n').length, signal }
  }
  assert.deepEqual(run('here:2'), { passes: 2, signal: 'SIGKILL' })
  assert.deepEqual(run('here'), { passes: 1, signal: 'SIGKILL' })
  assert.deepEqual(run('here:4'), { passes: 3, signal: null })
  assert.deepEqual(run(), { passes: 3, signal: null })
})

test('inside a test a failpoint can throw, once', () => {
  armFailpoint('there:2', () => {
    throw new Error('crash')
  })
  failpoint('there')
  assert.throws(() => failpoint('there'), /crash/)
  failpoint('there')
})
