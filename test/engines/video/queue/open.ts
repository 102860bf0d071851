import { requestFor } from '../../../../server/engines/check/video/request.ts'
import type { RenderInput, RenderRequest } from '../../../../server/engines/video/contract.ts'
import { type QueueOptions, queueVideo } from '../../../../server/engines/video/queue/adapter.ts'
import { type EngineServer, startEngineServer } from '../../../support/upstream/engine-server/server.ts'

type DialectName = QueueOptions['dialect']

/** Models of a catalog that take everything, with an input of their own for frames and references. */
export const MODELS: Record<DialectName, string> = { fal: 'minimax/h3-max/text-to-video', replicate: 'minimax/h3' }

export const optionsOf = (
  dialect: DialectName,
  server: EngineServer,
  more: Partial<QueueOptions> = {},
): QueueOptions => ({
  kind: 'queue',
  dialect,
  base_url: `${server.url}/${dialect}`,
  api_key: 'secret-key',
  input: {
    prompt: '{{prompt}}',
    duration: '{{seconds}}',
    aspect_ratio: '{{aspect_ratio}}',
    seed: '{{seed}}',
    image_url: '{{first_frame}}',
    end_image_url: '{{last_frame}}',
  },
  by_mode: {
    references: {
      model: dialect === 'fal' ? 'minimax/h3-max/reference-to-video' : 'minimax/h3-references',
      input: {
        prompt: '{{prompt}}',
        duration: '{{seconds_text}}',
        aspect_ratio: '{{aspect_ratio}}',
        image_urls: '{{reference_images}}',
        video_urls: '{{reference_videos}}',
        audio_urls: '{{reference_audio}}',
      },
    },
  },
  ...more,
})

/** A scriptable server of both dialects, and engines of this adapter on it. */
export async function startQueue() {
  const server = await startEngineServer()
  const opened: Array<{ close?(): Promise<void> }> = []

  function open(dialect: DialectName, more: Partial<QueueOptions> = {}) {
    const engine = queueVideo(optionsOf(dialect, server, more))
    opened.push(engine)
    return engine
  }

  return {
    server,
    open,
    request: (dialect: DialectName, more: Partial<RenderRequest> = {}, inputs: RenderInput[] = []): RenderRequest => ({
      ...requestFor(open(dialect), MODELS[dialect], inputs),
      ...more,
    }),
    async closeEngines() {
      await Promise.all(opened.splice(0).map((engine) => engine.close?.()))
      server.unscript()
      server.conduct({ polls: 0, status: null, error: null, extra: {}, omit: [], ignores_cancel: false })
    },
  }
}

/** Of the renders since then, `others` are those of other jobs: by default nobody else has any. */
export const since = (date: Date, others: readonly string[] = []) => ({
  since: date,
  taken: async (keys: readonly string[]) => new Set(keys.filter((key) => others.some((id) => key.endsWith(`/${id}`)))),
})

export const live = () => new AbortController().signal
