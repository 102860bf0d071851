import { after } from 'node:test'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'
import { videoEngineFaults } from '../faults.ts'
import { videoEngineMisbehavior } from '../misbehavior.ts'
import { minimax, veo } from './open.ts'

const server = await startEngineServer()
after(() => server.close())

const OF_THE_PACKAGE = {
  'an id of any type, name, place and length is accepted as text':
    'the package reads the id; a number is made text: ai-sdk.test.ts',
  'a start without an answer is found in a wrapped list with numbers for ids': 'packages have no list',
}
const OPERATION = "Google's operations are done or not, and have no status word"

const PROVIDERS = [
  {
    name: 'ai-sdk, Veo',
    open: veo,
    model: 'veo-3.1-generate-preview',
    pending: ['{}'],
    cannot: {
      ...OF_THE_PACKAGE,
      'words of success and of running are read in any case; an unknown word is reported, and evidence decides':
        OPERATION,
      'words of failure are read in any case, and so is an error beside an unknown word': OPERATION,
      'what a content filter blocked is so by words or flags alone, on a finished render too':
        'an operation says so by counts and texts: ai-sdk.test.ts',
      'progress is a number, a percentage or a fraction': 'an operation that is not done says nothing',
    },
    calls: {
      start: { method: 'POST', path: /:predictLongRunning$/ },
      poll: { method: 'GET', path: /\/operations\/[^/]+$/ },
      output: { method: 'GET', path: /:download/ },
    },
  },
  {
    name: 'ai-sdk, MiniMax',
    open: minimax,
    model: 'MiniMax-H3',
    pending: [],
    cannot: OF_THE_PACKAGE,
    calls: {
      start: { method: 'POST', path: /\/v2\/video_generation$/ },
      poll: { method: 'GET', path: /\/v2\/query\/video_generation\/[^/]+$/ },
      output: { method: 'GET', path: /\/clips\// },
    },
  },
]

for (const { name, open, model, calls, pending, cannot } of PROVIDERS) {
  videoEngineContract(name, async () => {
    server.conduct({ polls: 1 })
    const engine = open(server.url)
    return { engine, model, close: async () => engine.close?.() }
  })
  videoEngineFaults(name, { server, open: () => open(server.url, { start_timeout_seconds: 1 }), calls, model, pending })
  videoEngineMisbehavior(name, { server, calls, model, cannot, open: () => open(server.url) })
}
