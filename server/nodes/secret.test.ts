import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError } from '../platform/start-error.ts'
import { readSecret } from './secret.ts'

test('a secret is created once, written only when it is kept; a damaged one is refused, and the error says what replacing it costs', () => {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-secret-'))
  try {
    const made = readSecret(null, dir)
    assert.ok(!existsSync(join(dir, 'secret')))
    made.keep()
    assert.equal(readSecret(null, dir).secret, made.secret)
    assert.equal(readSecret('configured', dir).secret, 'configured')
    writeFileSync(join(dir, 'secret'), 'short\n')
    const refused = (error: Error) => error instanceof StartError && /backup.*reset-two-factor/.test(error.message)
    assert.throws(() => readSecret(null, dir), refused)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
