import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engineFailure } from '../../server/chat/engine-failure.ts'
import { ENGINE_ERROR_KINDS, EngineError, type EngineErrorKind } from '../../server/engines/engine-error.ts'
import { callError } from '../../server/engines/reply-error.ts'
import { ApiError } from '../../server/platform/errors.ts'
import { OutboundError, type OutboundReason } from '../../server/platform/outbound/error.ts'
import type { FailureCode } from '../../server/videos/job.ts'
import { renderFailure } from '../../server/videos/pipeline/retry.ts'

const CHAT: Record<EngineErrorKind, string> = {
  rejected: '400 invalid_request_error',
  moderation: '400 content_filter',
  context_length: '400 context_length_exceeded',
  overloaded: '503 server_is_overloaded',
  unreachable: '503 server_is_overloaded',
  timeout: '504 upstream_timeout',
  failed: '502 upstream_error',
  transient: '502 upstream_error',
  permanent: '502 upstream_error',
}

const RENDER: Record<EngineErrorKind, FailureCode | null> = {
  rejected: 'render_failed',
  moderation: 'moderation_blocked',
  context_length: 'render_failed',
  permanent: 'render_failed',
  overloaded: null,
  unreachable: null,
  timeout: null,
  failed: null,
  transient: null,
}

const OUTBOUND: Record<OutboundReason, EngineErrorKind> = {
  forbidden: 'permanent',
  unreachable: 'transient',
  timeout: 'transient',
  aborted: 'transient',
  too_large: 'transient',
  unreadable: 'transient',
  refused: 'transient',
}

const SILENT = { warn() {}, error() {} }
const TURN = {
  model: { id: 'm', context_length: null },
  request_id: 'req_1',
  parameters: { n: 1, stream: false },
  request: { model: 'm', messages: [], n: 1, stream: false, max_tokens: 16_384, reasoning_effort: 'high' },
}

test('every kind of engine error has its answer in chat, and its message stays in the log', () => {
  for (const kind of ENGINE_ERROR_KINDS) {
    const logged: unknown[] = []
    const log = { ...SILENT, warn: (_event: string, fields?: object) => void logged.push(fields) }
    const answer = engineFailure(log, TURN, new EngineError(kind, 'secret detail', { retry_after_seconds: 3 }))
    assert.ok(answer instanceof ApiError, kind)
    assert.equal(`${answer.status} ${answer.code}`, CHAT[kind])
    assert.ok(!answer.message.includes('secret'), kind)
    assert.equal(answer.retry_after_seconds, kind === 'overloaded' ? 3 : undefined)
    assert.deepEqual(logged, [{ request_id: 'req_1', code: kind, engine: 'm', detail: 'secret detail' }])
  }
})

test('a refusal names the parameter at fault, and the log has what the server said', () => {
  const logged: unknown[] = []
  const log = { ...SILENT, warn: (_event: string, fields?: object) => void logged.push(fields) }
  const turn = { ...TURN, parameters: { ...TURN.parameters, top_k: 5 } }
  const details = { param: 'top_k', reason: 'Extra inputs are not permitted', engine_code: 'bad_request' }
  const answer = engineFailure(log, turn, new EngineError('rejected', 'Status 422.', details))
  assert.ok(answer instanceof ApiError)
  assert.equal(answer.param, 'top_k')
  assert.match(answer.message, /'top_k'/)
  assert.deepEqual(logged, [
    {
      request_id: 'req_1',
      code: 'rejected',
      engine: 'm',
      engine_code: 'bad_request',
      detail: 'Status 422. It says: Extra inputs are not permitted',
    },
  ])
})

test('a field that the configuration set is for the operator, and one that nobody set is not named', () => {
  const alarms: unknown[] = []
  const log = { ...SILENT, error: (_event: string, fields?: object) => void alarms.push(fields) }
  for (const param of ['max_tokens', 'max_completion_tokens', 'reasoning_effort']) {
    const answer = engineFailure(log, TURN, new EngineError('rejected', 'Status 400.', { param, reason: 'Too large' }))
    assert.ok(answer instanceof ApiError)
    assert.deepEqual([answer.code, answer.param], ['upstream_error', null], param)
    const detail = `The configuration sets ${param}. Status 400. It says: Too large`
    assert.deepEqual(alarms.splice(0), [{ request_id: 'req_1', engine: 'm', detail }])
  }
  const parameters = { ...TURN.parameters, max_tokens: 5 }
  const own = engineFailure(log, { ...TURN, parameters }, new EngineError('rejected', 'x', { param: 'max_tokens' }))
  assert.ok(own instanceof ApiError && own.param === 'max_tokens')
  const unset = engineFailure(log, TURN, new EngineError('rejected', 'x', { param: 'top_k' }))
  assert.ok(unset instanceof ApiError && unset.code === 'invalid_request_error' && unset.param === null)
  assert.deepEqual(alarms, [])
})

test('every kind of engine error ends a render under its code, or lets it be tried again', () => {
  for (const kind of ENGINE_ERROR_KINDS) assert.equal(renderFailure(new EngineError(kind, 'x')), RENDER[kind], kind)
  const subject = 'reference_media'
  assert.equal(renderFailure(new EngineError('rejected', 'x', { subject })), 'invalid_reference_media')
})

test('an error that is not of an engine stays what it is, so that it is a 500', () => {
  const bug = new TypeError('x')
  const log = { ...SILENT, warn: () => assert.fail('logged as an engine error') }
  assert.equal(engineFailure(log, TURN, bug), bug)
  assert.equal(callError(bug), bug)
})

test('every way an outgoing request can fail is an engine error; only our own address rules are permanent', () => {
  for (const [reason, kind] of Object.entries(OUTBOUND) as Array<[OutboundReason, EngineErrorKind]>) {
    const error = callError(new OutboundError(reason, 'no reply'))
    assert.ok(error instanceof EngineError, reason)
    assert.equal(error.kind, kind, reason)
  }
})

test('an error that leaves open whether the engine has begun is not marked not_begun', () => {
  for (const kind of ENGINE_ERROR_KINDS)
    assert.equal(new EngineError(kind, 'x').not_begun, !['transient', 'timeout', 'failed'].includes(kind), kind)
  for (const [code, kind, not_begun] of [
    ['ECONNREFUSED', 'unreachable', true],
    ['ECONNRESET', 'transient', false],
  ] as const) {
    const error = callError(new OutboundError('unreachable', 'no connection', code)) as EngineError
    assert.deepEqual([error.kind, error.engine_code, error.not_begun], [kind, code, not_begun])
  }
})
