import { instantVideo } from '../../../server/engines/video/instant.ts'
import { videoEngineContract } from './contract.ts'

videoEngineContract('instant', async () => ({
  engine: instantVideo({ kind: 'instant', polls: 2 }),
  model: 'instant-1',
  close: async () => {},
}))
