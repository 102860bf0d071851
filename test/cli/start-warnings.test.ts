import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from '../../server/cli/serve.ts'
import { loadConfig } from '../../server/config/config.ts'
import { silentLog } from '../../server/platform/log.ts'

/** What `serve` warns of before it opens a database, which it does not find here. */
async function warningsOf(text: string): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-warnings-'))
  const path = join(dir, 'kinora.yaml')
  writeFileSync(path, text)
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
  const config = loadConfig({ config: path, data_dir: join(dir, 'data'), port: '0' }, env, () => [])
  const warned: string[] = []
  const log = { ...silentLog, warn: (event: string) => void warned.push(event) }
  await assert.rejects(serve(config, log))
  rmSync(dir, { recursive: true, force: true })
  return warned
}

test('a start warns while people agree to terms that the operator did not write, and not after', async () => {
  assert.ok((await warningsOf('')).includes('terms_are_a_placeholder'))
  const named = await warningsOf('terms: { version: "1", url: "https://acme.example/terms" }')
  assert.ok(!named.includes('terms_are_a_placeholder'))
})
