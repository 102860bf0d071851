import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { allSweeps } from '../../server/assembly/background.ts'
import { INSTANT_CONFIG, startApp } from '../support/http/app.ts'

test('leftovers of a killed process are swept from scratch although no engine uses it', async (t) => {
  const app = await startApp({ config: INSTANT_CONFIG })
  t.after(() => app.close())
  const { work_dir } = app.ctx
  const leftover = join(work_dir, 'media-999999999-abcdef')
  const old = join(work_dir, 'media-1-abcdef')
  for (const dir of [leftover, old]) {
    mkdirSync(dir)
    writeFileSync(join(dir, 'input-0'), 'x')
  }
  utimesSync(old, 0, 0)
  for (const sweep of allSweeps(app.ctx, app.ctx.db)) await sweep.run()
  assert.deepEqual(readdirSync(work_dir), [])
})
