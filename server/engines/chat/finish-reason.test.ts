import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineError } from '../engine-error.ts'
import { finishReason, readFinishReason } from './finish-reason.ts'

test('a failure keeps the word of its server, if it is short', () => {
  for (const [word, engine_code] of [
    ['MALFORMED_FUNCTION_CALL', 'MALFORMED_FUNCTION_CALL'],
    [`error ${'x'.repeat(100)}`, undefined],
  ] as const)
    assert.throws(
      () => finishReason(readFinishReason(word)!, { called: false, word }),
      (error) => error instanceof EngineError && error.kind === 'failed' && error.engine_code === engine_code,
    )
})

test('an endless reason costs no more than a short one', () => {
  const endless = 'x'.repeat(32_000_000)
  const { user } = process.cpuUsage()
  assert.equal(readFinishReason(endless), 'stop')
  assert.ok(process.cpuUsage().user - user < 100_000)
})
