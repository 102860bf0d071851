import assert from 'node:assert/strict'
import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from '../../server/cli/serve.ts'
import { loadConfig } from '../../server/config/load.ts'
import { silentLog } from '../../server/platform/log.ts'
import { sharedUser } from '../../server/platform/postgres/user.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'

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

test('a start as root warns when PostgreSQL runs as a user of other programs', {
  skip: process.getuid?.() === 0 ? false : 'needs root: run it as root, in a container for instance',
}, async (t) => {
  const dir = dataDir()
  t.after(dir.remove)
  await dir.prepare()
  const warned: string[] = []
  const log = {
    ...silentLog,
    warn: (event: string, fields?: { detail?: string }) => void warned.push(`${event}: ${fields?.detail}`),
  }
  await (await dir.serve({}, log)).stop()
  const { uid } = lstatSync(join(dir.path, 'postgres', 'cluster'))
  const user = sharedUser({ uid, gid: 0 })
  const found = warned.filter((each) => each.startsWith('postgres_user_is_shared: '))
  assert.equal(found.length, user === null ? 0 : 1)
  if (user !== null)
    assert.match(found[0]!, new RegExp(`runs as ${user}.* chown -R kinora ${dir.path}/postgres/cluster$`))
})

test('a start warns while people agree to terms that the operator did not write, and not after', async () => {
  assert.ok((await warningsOf('')).includes('terms_are_a_placeholder'))
  const named = await warningsOf('terms: { version: "1", url: "https://acme.example/terms" }')
  assert.ok(!named.includes('terms_are_a_placeholder'))
})
