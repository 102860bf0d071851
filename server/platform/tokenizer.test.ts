import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { encode as reference } from 'gpt-tokenizer/encoding/o200k_base'
import { law } from '../../test/support/law.ts'
import {
  countJsonTokens,
  countTokens,
  countTokensInTurns,
  decodeToken,
  encode,
  leastTokens,
  tokenBytes,
} from './tokenizer.ts'

const plain = (text: string) => reference(text, { disallowedSpecial: new Set() })

law('the tokens are those of the reference encoder, and their bytes are the text', (seed) => {
  const words = fc.constantFrom(
    ' ',
    '\n',
    "'s",
    'the ',
    '日本',
    'です。',
    '😀',
    '<|endoftext|>',
    '\r\n',
    '  ',
    'é',
    '12345',
  )
  const text = fc.array(fc.oneof(words, fc.string({ unit: 'binary' }), fc.string()), { maxLength: 12 })
  fc.assert(
    fc.property(text, (parts) => {
      const whole = parts.join('').toWellFormed()
      const ids = encode(whole)
      assert.deepEqual(ids, plain(whole))
      assert.equal(countTokens(whole), ids.length)
      assert.equal(Buffer.concat(ids.map(tokenBytes)).toString(), whole)
    }),
    { seed, numRuns: 500 },
  )
})

test('texts of several segments are counted exactly where words have spaces between them', async () => {
  const text = 'The cat, the 12 dogs and  the “hat” of 猫です sat\n on it. '.repeat(2000)
  assert.equal(countTokens(text), plain(text).length)
  assert.equal(await countTokensInTurns(text), plain(text).length)
})

test('one million hostile characters are counted in linear time, and stay the same text', () => {
  for (const unit of ['A', ' ', 'あ', '\ud800', 'Aあ']) {
    const text = unit.repeat(1_000_000 / unit.length)
    const before = process.cpuUsage()
    const ids = encode(text)
    const { user } = process.cpuUsage(before)
    assert.ok(ids.length > 0 && ids.length <= text.length * 3)
    assert.ok(user < 10_000_000, `${JSON.stringify(unit)} took ${user} µs of CPU`)
    assert.ok(Buffer.concat(ids.map(tokenBytes)).equals(Buffer.from(text)))
    assert.equal(countTokens(text), ids.length)
  }
})

test('markers of the vocabulary are plain text', () => {
  assert.ok(countTokens('<|endoftext|>') > 1)
  assert.throws(() => tokenBytes(199_999), RangeError)
})

test('half a surrogate pair counts as the replacement character', () => {
  assert.deepEqual(encode('a\ud800b'), encode('a\ufffdb'))
})

test('a token that is part of a character has no text of its own', () => {
  const [first] = encode('\u{1f9ff}')
  assert.ok(tokenBytes(first!).length > 0)
  assert.ok(encode('\u{1f9ff}').map(decodeToken).join('').includes('\ufffd'))
  assert.equal(decodeToken(encode('hello')[0]!), 'hello')
})

test('counting in turns stops when it is aborted', async () => {
  const signal = AbortSignal.abort(new Error('gone'))
  await assert.rejects(countTokensInTurns('word '.repeat(100_000), { signal }), /gone/)
})

test('counting stops soon after as many tokens as matter', async () => {
  const text = 'word '.repeat(1_000_000)
  for (const count of [countTokensInTurns(text, { most: 8192 }), countJsonTokens([text], { most: 8192 })]) {
    const tokens = await count
    assert.ok(tokens > 8192 && tokens < 8192 + 30_000, String(tokens))
  }
  assert.equal(await countTokensInTurns('word '.repeat(8192), { most: 8193 }), 8193)
})

test('no text has fewer tokens than its least number', () => {
  for (let id = 0; id < 199_998; id++) assert.ok(tokenBytes(id).length <= 128, String(id))
  assert.deepEqual([leastTokens(0), leastTokens(128), leastTokens(129)], [0, 1, 2])
  assert.equal(countTokens(' '.repeat(128 * 50)), leastTokens(128 * 50))
})

test('many short texts yield to other work as one long one does', async () => {
  let turns = 0
  const turning = setInterval(() => turns++, 0)
  for (let i = 0; i < 1000; i++) await countTokensInTurns('word '.repeat(500))
  clearInterval(turning)
  assert.ok(turns > 10, `${turns} turns`)
})

test('importing the tokenizer does not load the vocabulary', () => {
  const code = `await import(${JSON.stringify(new URL('./tokenizer.ts', import.meta.url).href)})
    const { createRequire } = await import('node:module')
    process.exit(Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes('gpt-tokenizer')) ? 1 : 0)`
  assert.equal(spawnSync(process.execPath, ['--input-type=module', '-e', code]).status, 0)
})
