import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestFor } from '../../../server/engines/check/video/request.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import type { VideoEngine } from '../../../server/engines/video/contract.ts'
import { readAll } from '../../../server/platform/outbound/exchange.ts'
import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import type { EngineServer } from '../../support/upstream/engine-server/server.ts'

/** How the calls of an adapter are recognized by the scriptable server. */
export type Calls = Record<'start' | 'poll' | 'output', { method: string; path: RegExp }>

/**
 * What every adapter that calls a server promises when that server fails. `open` gives an engine of the server with the credential
 * `secret-key`, whose start takes at most `start_timeout_seconds`: 1. `pending`: unreadable bodies that a package takes for a render that goes on.
 */
export function videoEngineFaults(
  name: string,
  {
    server,
    open,
    calls,
    model = 'MiniMax-H3',
    pending = [],
  }: { server: EngineServer; open(): VideoEngine; calls: Calls; model?: string; pending?: readonly string[] },
): void {
  const using = async (body: (engine: VideoEngine) => Promise<void>) => {
    const engine = open()
    try {
      await body(engine)
    } finally {
      server.unscript()
      server.release()
      server.conduct({ polls: 0, status: null, error: null, ignores_cancel: false, extra: {}, omit: [] })
      await engine.close?.()
    }
  }

  test(`${name}: a start that is refused has begun nothing, and one that is not answered may have`, () =>
    using(async (engine) => {
      const start = async (fault: Fault) => {
        server.unscript()
        server.script({ ...calls.start, times: 2, fault })
        const error = await engine.start(requestFor(engine, model), live()).catch((error: unknown) => error)
        assert.ok(error instanceof EngineError, `${JSON.stringify(fault)}: ${error}`)
        assertDiscreet(error)
        return error
      }
      for (const [status, kind] of REFUSALS) {
        const error = await start({ kind: 'status', status, body: '<html>leak-marker</html>' })
        assert.deepEqual([status, error.kind, error.not_begun], [status, kind, true])
      }
      for (const status of [408, 500, 502, 504]) {
        const error = await start({ kind: 'status', status, body: '<html>leak-marker</html>' })
        assert.deepEqual([status, error.kind, error.not_begun], [status, 'transient', false])
      }
      const later = await start({ kind: 'status', status: 429, headers: { 'retry-after': '17' } })
      assert.equal(later.retry_after_seconds, 17)
      for (const fault of [...CUT_SHORT, ...UNREADABLE]) {
        const error = await start(fault)
        assert.deepEqual([fault, error.kind, error.not_begun], [fault, 'transient', false])
      }
    }))

  test(`${name}: a start that is accepted and never answered ends after start_timeout_seconds, its outcome unknown`, () =>
    using(async (engine) => {
      server.script({ ...calls.start, fault: { kind: 'stall' } })
      await assert.rejects(engine.start(requestFor(engine, model), live()), { kind: 'transient', not_begun: false })
    }))

  test(`${name}: a poll that fails or cannot be read changes nothing: the render goes on`, () =>
    using(async (engine) => {
      const ticket = await engine.start(requestFor(engine, model), live())
      const statuses = [301, 401, 429, 500, 503].map((status): Fault => ({ kind: 'status', status }))
      for (const fault of [...CUT_SHORT, ...UNREADABLE, ...statuses]) {
        server.script({ ...calls.poll, times: 5, fault })
        const end = await engine.poll(ticket, live()).catch((error: unknown) => error)
        assertGoesOn(end, fault, pending)
        server.unscript()
      }
      const stop = new AbortController()
      server.script({ ...calls.poll, fault: { kind: 'stall' } })
      const stalled = engine.poll(ticket, stop.signal)
      stop.abort()
      await assert.rejects(stalled, EngineError)
      server.unscript()
      server.script({ ...calls.poll, fault: { kind: 'drip' } })
      assert.notEqual((await engine.poll(ticket, live())).state, 'failed')
      assert.equal((await pollToEnd(engine, ticket)).state, 'succeeded')
    }))

  test(`${name}: an output that cannot be fetched, or is not a video, is fetched again later`, () =>
    using(async (engine) => {
      const ticket = await engine.start(requestFor(engine, model), live())
      const done = await pollToEnd(engine, ticket)
      assert.ok(done.state === 'succeeded')
      const fetch = async () => readAll(await engine.fetch(ticket, done.output, live()))
      const expired = [403, 404, 410, 500].map((status): Fault => ({ kind: 'status', status, body: '<html>' }))
      const page: Fault = { kind: 'status', status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }
      for (const fault of [...expired, page]) {
        server.script({ ...calls.output, fault })
        const error = await fetch().catch((error: unknown) => error)
        assert.ok(error instanceof EngineError, `${JSON.stringify(fault)}: ${error}`)
        assertDiscreet(error)
      }
      for (const kind of ['cut', 'wrong_length', 'reset'] as const) {
        server.script({ ...calls.output, times: 2, fault: { kind } })
        await assert.rejects(fetch(), kind)
        server.unscript()
      }
      server.script({ ...calls.output, fault: { kind: 'drip' } })
      assert.equal((await fetch()).toString('latin1', 4, 8), 'ftyp')
      assert.equal((await fetch()).toString('latin1', 4, 8), 'ftyp')
    }))

  test(`${name}: a render that the engine no longer knows is lost`, () =>
    using(async (engine) => {
      const ticket = await engine.start(requestFor(engine, model), live())
      server.forget()
      assert.deepEqual(await engine.poll(ticket, live()), { state: 'lost' })
    }))
}

const REFUSALS = [
  ...([400, 422].map((status) => [status, 'rejected'] as const) satisfies unknown[]),
  ...([401, 402, 403, 404].map((status) => [status, 'permanent'] as const) satisfies unknown[]),
  ...([429, 503, 525].map((status) => [status, 'transient'] as const) satisfies unknown[]),
]

const CUT_SHORT: Fault[] = (['reset', 'lost_reply', 'cut', 'wrong_length', 'garbage', 'gzip_bomb'] as const).map(
  (kind) => ({ kind }),
)

const UNREADABLE: Fault[] = ['', '<html>', 'null', '[]', '{}'].map((body) => ({
  kind: 'status',
  status: 200,
  body,
}))

/** Nothing is known about the render, or it is taken for one that runs. */
function assertGoesOn(end: unknown, fault: Fault, pending: readonly string[]): void {
  if (fault.kind === 'status' && pending.includes(String(fault.body))) {
    assert.deepEqual(end, { state: 'running' })
    return
  }
  assert.ok(end instanceof EngineError, JSON.stringify(fault))
  assertDiscreet(end)
}

/** What goes to the log holds no prompt, no credential and no address. */
function assertDiscreet(error: EngineError): void {
  const text = `${error.message}${JSON.stringify(error)}${error.cause}`
  assert.doesNotMatch(text, /leak-marker|secret-key|127\.0\.0\.1|こんにちは/)
}

async function pollToEnd(engine: VideoEngine, ticket: Awaited<ReturnType<VideoEngine['start']>>) {
  for (;;) {
    const state = await engine.poll(ticket, live())
    if (state.state !== 'running') return state
  }
}

function live(): AbortSignal {
  return new AbortController().signal
}
