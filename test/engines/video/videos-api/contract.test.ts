import { after } from 'node:test'
import { type VideosApiOptions, videosApi } from '../../../../server/engines/video/videos-api/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { videoEngineMisbehavior } from '../misbehavior.ts'

const server = await startEngineServer()
after(() => server.close())

const NO_LIST = { 'a start without an answer is found in a wrapped list with numbers for ids': 'it has no list' }
const CALLS = {
  start: { method: 'POST', path: /\/videos$/ },
  poll: { method: 'GET', path: /\/videos\/[^/]+$/ },
  output: { method: 'GET', path: /\/content$/ },
  list: { method: 'GET', path: /\/videos\?/ },
}

for (const dialect of ['openai', 'openrouter', 'sglang', 'vllm-omni'] as const) {
  const open = (more: Partial<VideosApiOptions> = {}) => {
    const options: VideosApiOptions = { kind: 'videos-api', dialect, base_url: server.url, api_key: 'secret-key' }
    if (dialect === 'sglang') options.references_base_url = `${server.url}/ref`
    return videosApi({ ...options, ...more })
  }
  videoEngineContract(`videos-api ${dialect}`, async () => {
    server.conduct({ polls: 1 })
    const engine = open()
    return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
  })
  videoEngineFaults(`videos-api ${dialect}`, { server, open: () => open({ start_timeout_seconds: 1 }), calls: CALLS })
  videoEngineMisbehavior(`videos-api ${dialect}`, {
    server,
    open,
    calls: CALLS,
    model: 'MiniMax-H3',
    ...(dialect === 'openrouter' ? { cannot: NO_LIST } : {}),
  })
}
