import { EngineError } from '../../server/engines/engine-error.ts'
import type { ModerationResult } from '../../server/engines/moderation/contract.ts'
import type { Engines } from '../../server/engines/registry.ts'
import type { VideoEngine } from '../../server/engines/video/contract.ts'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { drawVariants, submit } from '../support/http/videos-app.ts'

/** Quick alone, and four videos of an organization at a time. */
export const QUICK = `
plans: { free: { max_concurrent_renders: 4 } }
video_models:
  - { id: instant-1, name: Quick, engine: instant, per_second: "0.010000" }
`
const MODELS = `${QUICK}  - { id: small-1, name: Small, engine: instant, per_second: "0.020000" }
`

/** The service with Quick, which takes everything, and Small. */
export const startTwoModels = (): Promise<TestApp> => startApp({ config: MODELS, engines: twoEngines() })

/** A video that is completed. */
export async function completed(app: TestApp, own: TestPerson, changes: Record<string, unknown> = {}): Promise<string> {
  const { body } = await submit(app, own, changes)
  await app.tick()
  await drawVariants(app)
  return body.id
}

/** The prompts of the videos of an organization, oldest first. */
export async function promptsOf(app: TestApp, own: TestPerson): Promise<string[]> {
  const { body } = await send(app, 'GET', '/v1/videos?order=asc', own)
  return body.data.map((each: { prompt: string }) => each.prompt)
}

/** Small renders 4 to 6 s in 16:9 from a prompt or one reference picture. Prompts with "breaks" fail on both. */
function twoEngines(): Engines {
  const engine = instantVideo({ kind: 'instant', script: [{ prompt_includes: 'breaks', render: 'permanent' }] })
  const small: VideoEngine = {
    ...engine,
    capabilities: (model) => ({
      ...engine.capabilities(model),
      modes: new Set(['text', 'references']),
      references_max: { images: 1, videos: 0, audio: 0, files: 1 },
      seconds: [4, 6],
      aspect_ratios: new Set(['16:9']),
    }),
  }
  const video = new Map([
    ['instant-1', soleEngine({ engine, model: 'instant-1', name: 'quick' })],
    ['small-1', soleEngine({ engine: small, model: 'small-1', name: 'small' })],
  ])
  const allow: ModerationResult = { verdict: 'allow', categories: [], engine: 'test', version: '1' }
  return {
    video,
    moderation: { sees_images: true, media: 'allow', moderate: async () => allow },
    translation: { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) },
    chat: new Map(),
    close: async () => {},
  }
}
