import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../test/support/law.ts'
import { apiKeyHint, hashKey, isKey, mintKey, randomText } from './format.ts'

test('a new key has the published form and its own checksum', () => {
  for (let i = 0; i < 200; i++) {
    const key = mintKey('kin')
    assert.match(key, /^kin_[0-9A-Za-z]{36}$/)
    assert.ok(isKey(key))
  }
})

test('the checksum is the CRC-32 of the 30 random characters in base62, padded with zeros', () => {
  // zlib.crc32(b'0' * 30) in Python.
  const value = 2011552642
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let [rest, text] = [value, '']
  while (rest > 0) [rest, text] = [Math.floor(rest / 62), digits[rest % 62] + text]
  assert.ok(isKey(`kin_${'0'.repeat(30)}${text.padStart(6, '0')}`))
})

law('a key with any one character changed is refused', (seed) => {
  const alphabet = 'ABCxyz059_-. é'
  fc.assert(
    fc.property(fc.nat(39), fc.constantFrom(...alphabet), (at, character) => {
      const key = mintKey('kin')
      const changed = key.slice(0, at) + character + key.slice(at + 1)
      // The prefix is not under the checksum: another prefix is another key, unknown by its hash.
      return changed === key || at < 3 || !isKey(changed)
    }),
    { seed, numRuns: 2000 },
  )
})

law('text that is not a key is refused, whatever it is', (seed) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => !isKey(text)),
    { seed },
  )
  for (const text of ['', 'kin_', `${mintKey('kin')}\n`, ` ${mintKey('kin')}`, mintKey('kin').toUpperCase()]) {
    assert.equal(isKey(text), false)
  }
})

test('a hint shows the prefix and the last four characters alone', () => {
  assert.equal(apiKeyHint('kin_0123456789012345678901234567890123Wxyz'), 'kin_...Wxyz')
})

test('the hash is the whole SHA-256', () => {
  assert.equal(hashKey('kin_a'), '287cab9334953c1ffcd9a79739e06acaeedd02dfeeea7e668eb72c2f26e4e397')
})

test('random text uses the whole alphabet evenly', () => {
  const counts = new Map<string, number>()
  for (const character of randomText(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1)
  assert.equal(counts.size, 62)
  for (const count of counts.values()) assert.ok(count > 700 && count < 1300, `one character came ${count} times`)
})
