import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extraContentOf, metadataOf } from './extra-content.ts'

test('what a client sends with a call sets no option of a provider but the signature', () => {
  const signed = { google: { thought_signature: 'c2ln' } }
  assert.deepEqual(metadataOf({ ...signed, openai: { itemId: 'fc_1' }, anthropic: { cacheControl: {} } }), {
    google: { thoughtSignature: 'c2ln' },
  })
  assert.equal(metadataOf({ openai: { itemId: 'fc_1' } }), undefined)
  assert.deepEqual(extraContentOf({ vertex: { thoughtSignature: 'c2ln' }, openai: { itemId: 'fc_1' } }), signed)
})
