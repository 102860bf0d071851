import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError } from '../platform/start-error.ts'
import { loadSecret } from './secret.ts'

test('a secret is created once and kept; a damaged one is refused, and the error says what replacing it costs', () => {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-secret-'))
  try {
    const made = loadSecret(null, dir)
    assert.equal(loadSecret(null, dir), made)
    assert.equal(loadSecret('configured', dir), 'configured')
    writeFileSync(join(dir, 'secret'), 'short\n')
    const refused = (error: Error) => error instanceof StartError && /backup.*reset-two-factor/.test(error.message)
    assert.throws(() => loadSecret(null, dir), refused)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
