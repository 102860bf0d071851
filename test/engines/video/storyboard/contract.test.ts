import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storyboardVideo } from '../../../../server/engines/video/storyboard/adapter.ts'
import { videoEngineContract } from '../contract.ts'

videoEngineContract('storyboard', async () => {
  const work_dir = mkdtempSync(join(tmpdir(), 'kinora-storyboard-contract-'))
  const engine = storyboardVideo({ work_dir })
  return {
    engine,
    model: 'storyboard-1',
    async close() {
      await engine.close?.()
      rmSync(work_dir, { recursive: true, force: true })
    },
  }
})
