import { requestFor } from '../../../../server/engines/check/video/request.ts'
import type { RenderInput, RenderRequest } from '../../../../server/engines/video/contract.ts'
import { type VideosApiOptions, videosApi } from '../../../../server/engines/video/videos-api/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'

/** A scriptable server of `/v1/videos`, and engines of this adapter on it. */
export async function startVideosApi() {
  const server = await startEngineServer()
  const opened: Array<{ close?(): Promise<void> }> = []

  function open(dialect: VideosApiOptions['dialect'], more: Partial<VideosApiOptions> = {}) {
    const engine = videosApi({ kind: 'videos-api', dialect, base_url: server.url, api_key: 'secret-key', ...more })
    opened.push(engine)
    return engine
  }

  return {
    server,
    open,
    request: (more: Partial<RenderRequest> = {}, inputs: RenderInput[] = []): RenderRequest => ({
      ...requestFor(open('sglang'), 'H3', inputs),
      ...more,
    }),
    async closeEngines() {
      await Promise.all(opened.splice(0).map((engine) => engine.close?.()))
    },
  }
}

/** Of the renders since then, `others` are those of other jobs: by default nobody else has any. */
export const since = (date: Date, others: readonly string[] = []) => ({
  since: date,
  taken: async (keys: readonly string[]) =>
    new Set(keys.filter((key) => others.some((id) => key.endsWith(`/videos/${id}`)))),
})

export const live = () => new AbortController().signal
