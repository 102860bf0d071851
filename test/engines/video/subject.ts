import assert from 'node:assert/strict'
import { requestFor } from '../../../server/engines/check/video/request.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import type { JsonValue, RenderState, VideoEngine } from '../../../server/engines/video/contract.ts'
import type { EngineServer } from '../../support/upstream/engine-server/server.ts'
import type { Calls } from './faults.ts'

export type Subject = {
  engine: VideoEngine
  server: EngineServer
  /** `list`: where the engine lists its renders. */
  calls: Calls & { list?: { method: string; path: RegExp } }
  model: string
}

export function start({ engine, model }: Pick<Subject, 'engine' | 'model'>): Promise<JsonValue> {
  return engine.start(requestFor(engine, model), live())
}

export async function thrown(call: Promise<unknown>): Promise<EngineError> {
  const error = await call.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(error instanceof EngineError, String(error))
  return error
}

/** fal's first poll is of its queue. */
export async function pollToEnd(engine: VideoEngine, ticket: JsonValue): Promise<RenderState> {
  for (;;) {
    const state = await engine.poll(ticket, live())
    if (state.state !== 'running') return state
  }
}

export function live(): AbortSignal {
  return new AbortController().signal
}
