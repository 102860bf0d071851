import { after } from 'node:test'
import { type QueueOptions, queueVideo } from '../../../../server/engines/video/queue/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { type Calls, videoEngineFaults } from '../faults.ts'
import { MODELS, optionsOf } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const CALLS: Record<QueueOptions['dialect'], Calls> = {
  fal: {
    start: { method: 'POST', path: /-to-video$/ },
    poll: { method: 'GET', path: /\/status$/ },
    output: { method: 'GET', path: /\/clip\.mp4$/ },
  },
  replicate: {
    start: { method: 'POST', path: /\/predictions$/ },
    poll: { method: 'GET', path: /\/predictions\/[^/]+$/ },
    output: { method: 'GET', path: /\/clip\.mp4$/ },
  },
}

for (const dialect of ['fal', 'replicate'] as const) {
  const model = MODELS[dialect]
  for (const input_transport of ['data', 'url'] as const)
    videoEngineContract(`queue ${dialect} with inputs as ${input_transport}`, async () => {
      server.conduct({ polls: 1 })
      const engine = queueVideo(optionsOf(dialect, server, { input_transport }))
      return { engine, model, close: async () => engine.close?.() }
    })
  videoEngineFaults(`queue ${dialect}`, {
    ...{ server, model, calls: CALLS[dialect] },
    open: () => queueVideo(optionsOf(dialect, server, { start_timeout_seconds: 1 })),
  })
}
