import assert from 'node:assert/strict'
import { test } from 'node:test'
import { purposeOf, type SealBinding, seal, unsealer } from './seal.ts'

const SECRET = 'a secret of the service, long enough'
const BINDING = { org_id: 'org_1', purpose: 'reasoning' } as const

function unseal(secrets: string[], binding: SealBinding, sealed: string): string | null {
  return unsealer(secrets)(binding, sealed)
}

test('any text can be decrypted again, and is encrypted differently each time', () => {
  for (const text of ['', 'a', 'Déjà vu 日本語 🎬', 'x'.repeat(100_000)]) {
    const [one, two] = [seal(SECRET, BINDING, text), seal(SECRET, BINDING, text)]
    assert.equal(unseal([SECRET], BINDING, one), text)
    assert.notEqual(one, two)
    assert.match(one, /^[A-Za-z0-9_-]+$/)
    if (text.length > 1) assert.equal(Buffer.from(one, 'base64url').includes(text), false)
  }
})

test('another organization, purpose or secret cannot decrypt it', () => {
  const sealed = seal(SECRET, BINDING, 'reasoning')
  assert.equal(unseal([SECRET], { ...BINDING, org_id: 'org_2' }, sealed), null)
  assert.equal(unseal([SECRET], { ...BINDING, purpose: 'compaction' }, sealed), null)
  assert.equal(unseal(['another secret of another service'], BINDING, sealed), null)
  assert.equal(unseal([SECRET], BINDING, sealed), 'reasoning')
  assert.equal(unseal(['another secret of another service', SECRET], BINDING, sealed), 'reasoning', 'one of several')
})

test('what the text of a reasoning item was encrypted for is known before it is decrypted', () => {
  for (const purpose of ['reasoning', 'calls'] as const) {
    const [binding, other] = [
      { ...BINDING, purpose },
      { ...BINDING, purpose: 'compaction' as const },
    ]
    const sealed = seal(SECRET, binding, '{}')
    assert.equal(purposeOf(sealed), purpose)
    assert.equal(unseal([SECRET], binding, sealed), '{}')
    assert.equal(unseal([SECRET], other, sealed), null)
  }
  assert.equal(purposeOf('gAAAAABo'), 'reasoning')
})

test('a changed byte, a truncated text, another version or any other text is null', () => {
  const bytes = Buffer.from(seal(SECRET, BINDING, 'reasoning'), 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i]! ^= 1
    assert.equal(unseal([SECRET], BINDING, changed.toString('base64url')), null, `byte ${i}`)
    assert.equal(unseal([SECRET], BINDING, bytes.subarray(0, i).toString('base64url')), null, `cut at ${i}`)
  }
  for (const text of ['', 'x', 'gAAAAABn', '日本語', 'A'.repeat(500)])
    assert.equal(unseal([SECRET], BINDING, text), null)
})
