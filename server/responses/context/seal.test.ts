import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seal, unseal } from './seal.ts'

const SECRET = 'a secret of the service, long enough'
const OWNER = { org_id: 'org_1', purpose: 'reasoning' } as const

test('what is sealed opens for its owner, text of any kind, and never reads the same twice', () => {
  for (const text of ['', 'a', 'Déjà vu 日本語 🎬', 'x'.repeat(100_000)]) {
    const [one, two] = [seal(SECRET, OWNER, text), seal(SECRET, OWNER, text)]
    assert.equal(unseal([SECRET], OWNER, one), text)
    assert.notEqual(one, two)
    assert.match(one, /^[A-Za-z0-9_-]+$/)
    if (text.length > 1) assert.equal(Buffer.from(one, 'base64url').includes(text), false)
  }
})

test('it opens for no other organization, purpose or secret', () => {
  const sealed = seal(SECRET, OWNER, 'thought')
  assert.equal(unseal([SECRET], { ...OWNER, org_id: 'org_2' }, sealed), null)
  assert.equal(unseal([SECRET], { ...OWNER, purpose: 'compaction' }, sealed), null)
  assert.equal(unseal(['another secret of another service'], OWNER, sealed), null)
  assert.equal(unseal([SECRET], OWNER, sealed), 'thought')
  assert.equal(unseal(['another secret of another service', SECRET], OWNER, sealed), 'thought', 'one of several')
})

test('a change of any byte, a cut, another version and any other text open nothing', () => {
  const bytes = Buffer.from(seal(SECRET, OWNER, 'thought'), 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i]! ^= 1
    assert.equal(unseal([SECRET], OWNER, changed.toString('base64url')), null, `byte ${i}`)
    assert.equal(unseal([SECRET], OWNER, bytes.subarray(0, i).toString('base64url')), null, `cut at ${i}`)
  }
  for (const text of ['', 'x', 'gAAAAABn', '日本語', 'A'.repeat(500)]) assert.equal(unseal([SECRET], OWNER, text), null)
})
