import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureFrom } from '../../console/api/failure.ts'
import en from '../../console/text/en/errors.ts'
import ja from '../../console/text/ja/errors.ts'
import { ERRORS } from '../../server/platform/errors.ts'
import { sourcesIn } from '../support/sources.ts'

test('every error code of the service has a text in both languages', () => {
  for (const texts of [en, ja]) {
    const missing = Object.keys(ERRORS).filter((code) => !Object.hasOwn(texts.code, code))
    assert.deepEqual(missing, [])
  }
})

test('the console has no text for a code that the service does not have', () => {
  const own = ['code_changed', 'file_damaged', 'wrong_file_type', 'network_failed', 'image_too_large', 'unexpected']
  const unknown = Object.keys(en.code).filter((code) => !Object.hasOwn(ERRORS, code) && !own.includes(code))
  assert.deepEqual(unknown, [])
})

test('a failure keeps the code, status and field of an answer, and none of its words', () => {
  const error = { message: 'Raw English of the API.', type: 'invalid_request_error', param: 'email', code: 'conflict' }
  const failure = failureFrom(409, JSON.stringify({ error }), () => null)
  assert.equal(failure.code, 'conflict')
  assert.equal(failure.status, 409)
  assert.equal(failure.param, 'email')
  assert.doesNotMatch(failure.message, /Raw English/)
})

test('no page reads the message of an error', () => {
  const wrong = sourcesIn('console')
    .filter(({ path }) => !/^console\/(text|dist|guides\/programs|api\/failure)/.test(path))
    .flatMap(({ path, text }) => text.split('\n').map((line, at) => ({ line, place: `${path}:${at + 1}` })))
    .filter(({ line }) => /[eE]rror\.message|[fF]ailure\.message|(failureOf\([^)]*\))\.message/.test(line))
    .map(({ place, line }) => `${place}: ${line.trim()}`)
  assert.deepEqual(wrong, [])
})
