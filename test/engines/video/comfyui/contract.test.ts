import { after } from 'node:test'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { openComfyui } from './workflows.ts'

const server = await startEngineServer()
after(() => server.close())

videoEngineContract('comfyui', async () => {
  server.conduct({ polls: 1 })
  const engine = openComfyui(server.url)
  return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
})

videoEngineFaults('comfyui', {
  server,
  open: () => openComfyui(server.url, { start_timeout_seconds: 1 }),
  calls: {
    start: { method: 'POST', path: /\/prompt$/ },
    poll: { method: 'GET', path: /\/(history\/[^/]+|queue)$/ },
    output: { method: 'GET', path: /\/view\?/ },
  },
})
