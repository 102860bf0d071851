import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { DIALECTS, live, startContentTasks, type TasksDialect } from './open.ts'

const { server, open, request, closeEngines } = await startContentTasks()
const other = await startEngineServer()
after(() => Promise.all([server.close(), other.close()]))
afterEach(async () => {
  server.unscript()
  server.conduct({ polls: 0, status: null, error: null, extra: {}, omit: [] })
  await closeEngines()
})

const numbered = (code: number, http: number) => ({
  type: 'error',
  error: { type: 'some_error', message: `leak-marker of a prompt (${code})`, http_code: String(http) },
  request_id: 'r1',
})
const coded = (code: string) => ({ error: { code, message: 'leak-marker', param: '', type: 'BadRequest' } })

const MINIMAX: Array<[status: number, code: number, kind: string, not_begun: boolean]> = [
  [400, 2013, 'rejected', true],
  [400, 1042, 'rejected', true],
  [401, 1004, 'permanent', true],
  [402, 1008, 'permanent', true],
  [422, 1026, 'moderation', true],
  [422, 1027, 'moderation', true],
  [429, 1002, 'transient', true],
  ...[1000, 1001, 1024, 1033].map((code): [number, number, string, boolean] => [500, code, 'transient', false]),
  // A gateway may answer with a status of its own.
  [500, 2013, 'rejected', true],
  [200, 1026, 'moderation', true],
  [200, 1000, 'transient', true],
]

const ARK: Array<[status: number, code: string, kind: string, subject?: string]> = [
  [400, 'InputTextSensitiveContentDetected', 'moderation'],
  [400, 'InputImageSensitiveContentDetected.PrivacyInformation', 'moderation'],
  [400, 'InvalidParameter', 'rejected'],
  [400, 'InvalidImageURL.InvalidFormat', 'rejected', 'reference_media'],
  [401, 'AuthenticationError', 'permanent'],
  [403, 'AccountOverdueError', 'permanent'],
  [404, 'InvalidEndpointOrModel.NotFound', 'permanent'],
  [429, 'RateLimitExceeded.EndpointRPMExceeded', 'transient'],
  [429, 'ServerOverloaded', 'transient'],
  [500, 'InternalServiceError', 'transient'],
]

async function startError(dialect: TasksDialect, status: number, body: object): Promise<EngineError> {
  server.script({ method: 'POST', fault: { kind: 'status', status, body } })
  const error = await open(dialect)
    .start(request({ prompt: 'leak-marker' }), live())
    .catch((error: unknown) => error)
  assert.ok(error instanceof EngineError, `${status}`)
  assert.doesNotMatch(`${error.message}${JSON.stringify(error)}${error.cause}`, /leak-marker|secret-key|127\.0\.0\.1/)
  return error
}

test('a refusal has the kind of the code in its message, whatever the status', async () => {
  for (const [status, code, kind, not_begun] of MINIMAX) {
    const error = await startError('minimax', status, numbered(code, status))
    assert.deepEqual([status, code, error.kind, error.not_begun], [status, code, kind, not_begun])
    assert.equal(error.engine_code, String(code))
  }
  const base_resp = { status_code: 1008, status_msg: 'insufficient balance' }
  assert.equal((await startError('minimax', 200, { task_id: '', base_resp })).kind, 'permanent')
  assert.equal((await startError('minimax', 200, { task_id: '7', base_resp })).kind, 'permanent')
  for (const [status, code, kind, subject] of ARK) {
    const error = await startError('ark', status, coded(code))
    assert.deepEqual([code, error.kind, error.subject], [code, kind, subject])
  }
})

test('an id that would lead elsewhere is not taken', async () => {
  for (const id of ['', '.', '..', 'x'.repeat(2001)]) {
    assert.equal((await startError('minimax', 200, { task_id: id })).kind, 'transient')
    assert.equal((await startError('ark', 200, { id })).kind, 'transient')
  }
  const engine = open('minimax')
  await assert.rejects(engine.cancel({ id: '..' }), { kind: 'permanent' })
  assert.deepEqual(await engine.poll({ id: '../x' }, live()), { state: 'lost' })
  assert.equal(server.requests.at(-1)!.path, '/v2/query/video_generation/..%2Fx')
})

test('a poll distinguishes queued, running, succeeded, failed, ended and lost', async () => {
  for (const dialect of DIALECTS) {
    const engine = open(dialect)
    const end = async (status: string, error: unknown = null) => {
      server.conduct({ polls: 0, status, error })
      const state = await engine.poll(await engine.start(request(), live()), live())
      return state.state === 'failed' ? `failed ${state.error.kind}` : state.state
    }
    assert.equal(await end('queued'), 'running')
    assert.equal(await end('a_new_status'), 'running')
    assert.equal(await end('cancelled'), 'failed transient')
    assert.equal(await end('expired'), 'failed transient')
    assert.equal(await end('failed', { message: 'it broke' }), 'failed rejected')
    server.conduct({ polls: 1, status: null, error: null })
    const ticket = await engine.start(request(), live())
    assert.deepEqual(await engine.poll(ticket, live()), { state: 'running' })
    server.forget()
    assert.deepEqual(await engine.poll(ticket, live()), { state: 'lost' })
  }
})

test('a failed task has the kind of its code; after the window of 7 days its id is lost', async () => {
  const failed = async (dialect: TasksDialect, error: unknown) => {
    server.conduct({ polls: 0, status: 'failed', error })
    const engine = open(dialect)
    const state = await engine.poll(await engine.start(request(), live()), live())
    assert.ok(state.state === 'failed')
    return state.error.kind
  }
  assert.equal(await failed('minimax', { code: '1026', message: 'sensitive' }), 'moderation')
  assert.equal(await failed('minimax', { code: 1027, message: 'sensitive' }), 'moderation')
  assert.equal(await failed('minimax', { message: 'output sensitive (1027)' }), 'moderation')
  assert.equal(await failed('minimax', { code: '1033', message: 'system' }), 'transient')
  assert.equal(await failed('minimax', { code: '2013' }), 'rejected')
  assert.equal(await failed('ark', { code: 'OutputVideoSensitiveContentDetected' }), 'moderation')
  assert.equal(await failed('ark', { code: 'InternalServiceError' }), 'transient')
  const engine = open('minimax')
  const error = { type: 'bad_request_error', message: 'invalid params, invalid task_id (2013)', http_code: '400' }
  server.script({ method: 'GET', fault: { kind: 'status', status: 400, body: { type: 'error', error } } })
  assert.deepEqual(await engine.poll({ id: 'old' }, live()), { state: 'lost' })
})

test('a clip is fetched from a fresh URL, since the first one expires', async () => {
  for (const dialect of DIALECTS) {
    const engine = open(dialect)
    const ticket = await engine.start(request(), live())
    const done = await engine.poll(ticket, live())
    assert.ok(done.state === 'succeeded')
    await engine.poll(ticket, live())
    const stale = (done.output as { url: string }).url
    assert.equal((await fetch(stale)).status, 403)
    for (const output of [done.output, {}])
      assert.equal((await readAll(await engine.fetch(ticket, output, live()))).toString('latin1', 4, 8), 'ftyp')
  }
})

test('a clip of a task that is gone is fetched from the URL that was stored, and one without any URL later', async () => {
  const engine = open('minimax')
  await assert.rejects(engine.fetch({ id: 'gone' }, {}, live()), { kind: 'transient' })
  const kept = await engine.start(request(), live())
  const done = await engine.poll(kept, live())
  assert.ok(done.state === 'succeeded')
  const clip = await engine.fetch({ id: 'gone' }, done.output, live())
  assert.equal((await readAll(clip)).toString('latin1', 4, 8), 'ftyp')
})

test('a clip on another host is fetched without the credential, and only from where that is allowed', async () => {
  const elsewhere = open('ark', { base_url: other.url })
  const done = await elsewhere.poll(await elsewhere.start(request(), live()), live())
  assert.ok(done.state === 'succeeded')
  server.conduct({ extra: { content: { video_url: (done.output as { url: string }).url } } })
  const ticket = await open('ark').start(request(), live())
  const asked = other.requests.length
  await assert.rejects(open('ark').fetch(ticket, {}, live()), { kind: 'permanent' })
  assert.equal(other.requests.length, asked)
  const clip = await open('ark', { output_origins: [other.url] }).fetch(ticket, {}, live())
  assert.equal((await readAll(clip)).toString('latin1', 4, 8), 'ftyp')
  assert.deepEqual([other.requests.length, other.requests.at(-1)!.headers.authorization], [asked + 1, undefined])
})

test('cancel: true for a queued task, an ended one and one that is gone, false for a running one', async () => {
  for (const dialect of DIALECTS) {
    const engine = open(dialect)
    const queued = await engine.start(request(), live())
    assert.equal(await engine.cancel(queued), true)
    assert.equal((await engine.poll(queued, live())).state, 'failed')
    assert.equal(await engine.cancel(queued), true, 'canceled already')
    server.conduct({ polls: 9 })
    const running = await engine.start(request(), live())
    await engine.poll(running, live())
    assert.equal(await engine.cancel(running), false)
    assert.equal((await engine.poll(running, live())).state, 'running')
    server.conduct({ polls: 0 })
    const ended = await engine.start(request(), live())
    await engine.poll(ended, live())
    assert.equal(await engine.cancel(ended), true)
    assert.deepEqual(await engine.poll(ended, live()), { state: 'lost' })
    assert.equal(await engine.cancel(ended), true)
  }
})

test('cancel throws only when the engine cannot be asked', async () => {
  const engine = open('minimax')
  server.conduct({ polls: 9, status: null })
  const ticket = await engine.start(request(), live())
  await engine.poll(ticket, live())
  server.script({ method: 'DELETE', times: 2, fault: { kind: 'reset' } })
  await assert.rejects(engine.cancel(ticket), { kind: 'transient' })
  server.unscript()
  server.script({ method: 'DELETE', fault: { kind: 'status', status: 500, body: numbered(1000, 500) } })
  assert.equal(await engine.cancel(ticket), false, 'the task says that it runs')
  server.script({ method: 'DELETE', fault: { kind: 'status', status: 403 } })
  assert.equal(await engine.cancel(ticket), false)
})
