import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passesOf } from '../support/passes.ts'

const files = ['test/flow/a.test.ts', 'test/flow/b.test.ts', 'test/flow/c.test.ts', 'test/repo/d.test.ts']
const on = 'postgres://elsewhere/x'
const listOf = (env: NodeJS.ProcessEnv, list = files) => passesOf(list, env).passes.map((pass) => [...pass.files])

test('every file runs on the embedded PostgreSQL, and where the database decides on one other', () => {
  assert.deepEqual(listOf({ TEST_DATABASE_URL: on }), [files, files.slice(0, 3)])
  const [first, ...others] = listOf({})
  assert.deepEqual(first, files)
  // Of those that are installed here; none is, and then the run says how to have one.
  const again = others.length > 0 ? others.flat().sort() : passesOf(files, {}).left_out.files
  assert.deepEqual(again, files.slice(0, 3))
})

test('KINORA_TEST_ALL runs every file on every PostgreSQL, KINORA_TEST_ONCE none twice', () => {
  assert.deepEqual(listOf({ TEST_DATABASE_URL: on, KINORA_TEST_ALL: '1' }), [files, files])
  assert.deepEqual(listOf({ TEST_DATABASE_URL: on, KINORA_TEST_ONCE: '1' }), [files])
  assert.deepEqual(passesOf(files, { KINORA_TEST_ONCE: '1' }).left_out, {
    files: files.slice(0, 3),
    how: 'unset KINORA_TEST_ONCE',
  })
})

test('a run without a file where the database decides has one pass', () => {
  assert.deepEqual(listOf({ TEST_DATABASE_URL: on }, ['test/repo/d.test.ts']), [['test/repo/d.test.ts']])
})

test('where the storage decides, a file runs once more with a bucket', () => {
  const storages = (file: string) =>
    passesOf([file], { TEST_DATABASE_URL: on }).passes.map(({ env }) => env.KINORA_TEST_STORAGE)
  assert.deepEqual(storages('test/flow/cancel.test.ts'), [undefined, 's3', undefined])
  assert.deepEqual(storages('test/flow/output.test.ts'), [undefined, 's3'], 'the database decides nothing of it')
})
