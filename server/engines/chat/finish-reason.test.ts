import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineError } from '../engine-error.ts'
import { finishReason, readFinishReason } from './finish-reason.ts'

test('a reason means the same in the words of every server', () => {
  const words = {
    length: [
      'max_tokens',
      'MAX_TOKENS',
      'max_output_tokens',
      'model_length',
      'output_limit',
      'limit',
      'ERROR_LIMIT',
      'contextLengthReached',
    ],
    content_filter: [
      'SAFETY',
      'unsafe',
      'moderated',
      'harmful',
      'BLOCKLIST',
      'SPII',
      'IMAGE_SAFETY',
      'ERROR_TOXIC',
      'flagged',
    ],
    failed: [
      'canceled',
      'timeout',
      'aborted',
      'killed',
      'TOO_MANY_TOOL_CALLS',
      'MISSING_THOUGHT_SIGNATURE',
      'UNEXPECTED_TOOL_CALL',
    ],
    overloaded: ['insufficient_system_resource', 'overloaded', 'rate_limit'],
    tool_calls: ['tool_use', 'function_call'],
    stop: ['eos', 'end_turn', 'stop_sequence', 'COMPLETE', 'OTHER', 'eosFound', 'stopStringFound', '停止'],
  }
  for (const [ending, list] of Object.entries(words))
    for (const word of list) assert.equal(readFinishReason(word), ending, word)
})

test('words for none are none', () => {
  for (const word of ['null', 'None', 'undefined', 'FINISH_REASON_UNSPECIFIED', 'in_progress', 'not_finished'])
    assert.equal(readFinishReason(word), null, word)
})

test('a failure keeps the word of its server, if it is short', () => {
  for (const [word, engine_code] of [
    ['MALFORMED_FUNCTION_CALL', 'MALFORMED_FUNCTION_CALL'],
    [`error ${'x'.repeat(100)}`, undefined],
  ] as const)
    assert.throws(
      () => finishReason(readFinishReason(word)!, { called: false, cut: false, word }),
      (error) => error instanceof EngineError && error.kind === 'failed' && error.engine_code === engine_code,
    )
})

test('an endless reason costs no more than a short one', () => {
  const endless = 'x'.repeat(32_000_000)
  const { user } = process.cpuUsage()
  assert.equal(readFinishReason(endless), 'stop')
  assert.ok(process.cpuUsage().user - user < 100_000)
})
