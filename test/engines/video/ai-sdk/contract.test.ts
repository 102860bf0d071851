import { after } from 'node:test'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { minimax, veo } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const PROVIDERS = [
  {
    ...{ name: 'ai-sdk, Veo', open: veo, model: 'veo-3.1-generate-preview' },
    pending: ['{}', '{"id":7,"status":5}'],
    calls: {
      start: { method: 'POST', path: /:predictLongRunning$/ },
      poll: { method: 'GET', path: /\/operations\/[^/]+$/ },
      output: { method: 'GET', path: /:download/ },
    },
  },
  {
    ...{ name: 'ai-sdk, MiniMax', open: minimax, model: 'MiniMax-H3' },
    pending: [],
    calls: {
      start: { method: 'POST', path: /\/v2\/video_generation$/ },
      poll: { method: 'GET', path: /\/v2\/query\/video_generation\/[^/]+$/ },
      output: { method: 'GET', path: /\/clips\// },
    },
  },
]

for (const { name, open, model, calls, pending } of PROVIDERS) {
  videoEngineContract(name, async () => {
    server.conduct({ polls: 1 })
    const engine = open(server.url)
    return { engine, model, close: async () => engine.close?.() }
  })
  videoEngineFaults(name, { server, open: () => open(server.url, { start_timeout_seconds: 1 }), calls, model, pending })
}
