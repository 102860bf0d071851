import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { scryptSync } from 'node:crypto'
import { test } from 'node:test'

const PASSWORDS = new URL('../../../server/identity/login/passwords.ts', import.meta.url).href

test('a password is stored as scrypt with N 16384, r 16, p 1 and a salt of its own', () => {
  // In a process of its own: in those of the tests a password costs nothing.
  const program = `import { hashPassword } from ${JSON.stringify(PASSWORDS)}
    for (let i = 0; i < 2; i++) console.log(await hashPassword('correct horse battery'))`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  const hashes = output.trim().split('\n')
  for (const hash of hashes) {
    const [salt, key] = hash.split(':')
    const cost = { N: 16_384, r: 16, p: 1, maxmem: 64 * 2 ** 20 }
    assert.match(salt!, /^[0-9a-f]{32}$/)
    assert.equal(key, scryptSync('correct horse battery', salt!, 64, cost).toString('hex'))
  }
  assert.notEqual(hashes[0], hashes[1])
})
