import { after } from 'node:test'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { type VideosApiOptions, videosApi } from '../../server/engines/video/videos-api/adapter.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'
import { videoEngineContract } from './contract.ts'

videoEngineContract('instant', async () => ({
  engine: instantVideo({ kind: 'instant', polls: 2 }),
  model: 'instant-1',
  close: async () => {},
}))

const server = await startEngineServer()
after(() => server.close())
server.conduct({ polls: 1 })

for (const dialect of ['openai', 'openrouter', 'sglang', 'vllm-omni'] as const) {
  videoEngineContract(`videos-api ${dialect}`, async () => {
    const options: VideosApiOptions = { kind: 'videos-api', dialect, base_url: server.url }
    if (dialect === 'sglang') options.references_base_url = `${server.url}/ref`
    const engine = videosApi(options)
    return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
  })
}
