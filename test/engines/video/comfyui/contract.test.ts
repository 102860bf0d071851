import { after } from 'node:test'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { videoEngineMisbehavior } from '../misbehavior.ts'
import { openComfyui } from './workflows.ts'

const server = await startEngineServer()
after(() => server.close())

videoEngineContract('comfyui', async () => {
  server.conduct({ polls: 1 })
  const engine = openComfyui(server.url)
  return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
})

const calls = {
  start: { method: 'POST', path: /\/prompt$/ },
  poll: { method: 'GET', path: /\/(history\/[^/]+|queue)$/ },
  output: { method: 'GET', path: /\/view\?/ },
}

videoEngineFaults('comfyui', { server, open: () => openComfyui(server.url, { start_timeout_seconds: 1 }), calls })

const HISTORY = 'its history and queue are asked for by an id of ours, and have no words of a status'
videoEngineMisbehavior('comfyui', {
  server,
  calls,
  model: 'MiniMax-H3',
  open: () => openComfyui(server.url),
  cannot: {
    'an id of any type, name, place and length is accepted as text': 'the id is ours',
    'a render that is not known is lost, in whatever status and words the reply says so':
      'an empty history and queue say so; any other reply is of a proxy',
    'an envelope around a view changes nothing, and its success is not that of the render': HISTORY,
    'words of success and of running are read in any case; an unknown word is reported, and evidence decides': HISTORY,
    'words of failure are read in any case, and so is an error beside an unknown word': HISTORY,
    'what a content filter blocked is so by words or flags alone, on a finished render too':
      'a node says so: requests.test.ts',
    'progress is a number, a percentage or a fraction': HISTORY,
    'a start that shortens the clip is canceled and rejected': 'the workflow says how many frames there are',
    'a start without an answer is found in a wrapped list with numbers for ids': 'the same id is started again',
  },
})
