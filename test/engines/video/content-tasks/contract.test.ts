import { after } from 'node:test'
import { type ContentTasksOptions, contentTasks } from '../../../../server/engines/video/content-tasks/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { videoEngineMisbehavior } from '../misbehavior.ts'
import { DIALECTS } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const START = { minimax: /\/v2\/video_generation$/, ark: /\/contents\/generations\/tasks$/ }
const POLL = { minimax: /\/v2\/query\/video_generation\/[^/]+$/, ark: /\/contents\/generations\/tasks\/[^/]+$/ }

for (const dialect of DIALECTS) {
  const open = (more: Partial<ContentTasksOptions> = {}) =>
    contentTasks({ kind: 'content-tasks', dialect, base_url: server.url, api_key: 'secret-key', ...more })
  for (const input_transport of ['data', 'url'] as const)
    videoEngineContract(`content-tasks ${dialect}, ${input_transport}`, async () => {
      server.conduct({ polls: 1 })
      const engine = open({ input_transport })
      return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
    })
  videoEngineContract(`content-tasks ${dialect} as H3-Max`, async () => {
    server.conduct({ polls: 1 })
    const engine = open()
    return { engine, model: 'MiniMax-H3-Max', close: async () => engine.close?.() }
  })
  const calls = {
    start: { method: 'POST', path: START[dialect] },
    poll: { method: 'GET', path: POLL[dialect] },
    output: { method: 'GET', path: /\/clips\// },
    list: { method: 'GET', path: /(video_generation|tasks)\?/ },
  }
  videoEngineFaults(`content-tasks ${dialect}`, { server, open: () => open({ start_timeout_seconds: 1 }), calls })
  videoEngineMisbehavior(`content-tasks ${dialect}`, { server, open, calls, model: 'MiniMax-H3' })
}
