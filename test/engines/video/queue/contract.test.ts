import { after } from 'node:test'
import { type QueueOptions, queueVideo } from '../../../../server/engines/video/queue/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { videoEngineMisbehavior } from '../misbehavior.ts'
import { MODELS, optionsOf } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const CALLS = {
  fal: {
    start: { method: 'POST', path: /-to-video$/ },
    poll: { method: 'GET', path: /\/status$/ },
    output: { method: 'GET', path: /\/clip\.mp4$/ },
  },
  replicate: {
    start: { method: 'POST', path: /\/predictions$/ },
    poll: { method: 'GET', path: /\/predictions\/[^/]+$/ },
    output: { method: 'GET', path: /\/clip\.mp4$/ },
    list: { method: 'GET', path: /\/predictions$/ },
  },
} satisfies Record<QueueOptions['dialect'], object>

const CANNOT = {
  fal: {
    'words of failure are read in any case, and so is an error beside an unknown word':
      'a request that failed is completed too, and its result says why: fal.test.ts',
    'what a content filter blocked is so by words or flags alone, on a finished render too':
      'the result says so: fal.test.ts',
    'a start without an answer is found in a wrapped list with numbers for ids': 'it has no list',
  },
  replicate: {},
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
    server,
    model,
    calls: CALLS[dialect],
    open: () => queueVideo(optionsOf(dialect, server, { start_timeout_seconds: 1 })),
  })
  videoEngineMisbehavior(`queue ${dialect}`, {
    server,
    model,
    calls: CALLS[dialect],
    cannot: CANNOT[dialect],
    open: () => queueVideo(optionsOf(dialect, server)),
  })
}
