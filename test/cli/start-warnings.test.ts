import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from '../../server/cli/serve.ts'
import { loadConfig } from '../../server/config/load.ts'
import { silentLog } from '../../server/platform/log.ts'
import { emptyDatabase } from '../support/data/data-dir.ts'

/** What `serve` warns of by the time it answers. */
async function warningsOf(text: string): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-warnings-'))
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, text)
  const database = await emptyDatabase()
  const warned: string[] = []
  const log = { ...silentLog, warn: (event: string) => void warned.push(event) }
  try {
    const env = { DATABASE_URL: database.url }
    await (
      await serve(
        loadConfig({ config: path, data_dir: join(dir, 'data'), port: '0' }, env, () => []),
        log,
      )
    ).stop()
  } finally {
    await database.drop()
    rmSync(dir, { recursive: true, force: true })
  }
  return warned
}

test('a start warns while people agree to terms that the operator did not write, and not after', async () => {
  assert.ok((await warningsOf('')).includes('terms_are_a_placeholder'))
  const named = await warningsOf('terms: { version: "1", url: "https://acme.example/terms" }')
  assert.ok(!named.includes('terms_are_a_placeholder'))
})
