import { requestFor } from '../../../../server/engines/check/video/request.ts'
import { type ContentTasksOptions, contentTasks } from '../../../../server/engines/video/content-tasks/adapter.ts'
import type { RenderInput, RenderRequest } from '../../../../server/engines/video/contract.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'

export type TasksDialect = ContentTasksOptions['dialect']
export const DIALECTS: readonly TasksDialect[] = ['minimax', 'ark']

/** A scriptable server of both dialects, and engines of this adapter on it. */
export async function startContentTasks() {
  const server = await startEngineServer()
  const opened: Array<{ close?(): Promise<void> }> = []

  function open(dialect: TasksDialect, more: Partial<ContentTasksOptions> = {}) {
    const engine = contentTasks({
      kind: 'content-tasks',
      dialect,
      base_url: server.url,
      api_key: 'secret-key',
      ...more,
    })
    opened.push(engine)
    return engine
  }

  return {
    server,
    open,
    request: (more: Partial<RenderRequest> = {}, inputs: RenderInput[] = []): RenderRequest => ({
      ...requestFor(open('minimax'), 'MiniMax-H3', inputs),
      ...more,
    }),
    async closeEngines() {
      await Promise.all(opened.splice(0).map((engine) => engine.close?.()))
    },
  }
}

export const live = () => new AbortController().signal
