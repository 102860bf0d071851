import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../../test/support/law.ts'
import { captionsOf, unitsOf } from './captions.ts'

const texts = (prompt: string, seconds = 8, kind = 'caption') =>
  captionsOf(prompt, seconds, 0.35).flatMap((caption) => (caption.kind === kind ? [caption.text] : []))

test('sentences become captions and dialogue becomes subtitles', () => {
  const prompt = 'A fox walks. She says <d>Good morning!</d> and leaves. 霧の中。<d>おはよう</d>'
  assert.deepEqual(texts(prompt, 8, 'subtitle'), ['Good morning!', 'おはよう'])
  assert.deepEqual(texts(prompt), ['A fox walks.', 'She says … and leaves.', '霧の中。'])
})

test('an unclosed dialogue runs to the end, and a prompt of dialogue alone has no caption', () => {
  assert.deepEqual(texts('<d>Hello there', 5), [])
  assert.deepEqual(texts('<d>Hello there', 5, 'subtitle'), ['Hello there'])
})

test('a prompt that is too long is shown in extracts from its beginning to its end', () => {
  const prompt = Array.from({ length: 200 }, (_, index) => `Sentence number ${index} has a few words.`).join(' ')
  const shown = texts(prompt, 15)
  assert.ok(shown.length >= 3 && shown.length <= 4)
  assert.match(shown[0]!, /number 0 /)
  assert.match(shown.at(-1)!, /number 199 /)
  assert.match(texts('語'.repeat(3000), 5)[0]!, /^語+…$/)
})

law('captions of a kind never overlap, keep the margins and can be read', (seed) => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('雨が降る。', 'A long shot, slowly', '<d>', '</d>', '. ', '\n', '🦊 '),
  )
  const prompts = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(prompts, fc.integer({ min: 4, max: 15 }), (prompt, seconds) => {
      const captions = captionsOf(prompt, seconds, 0.75)
      for (const kind of ['caption', 'subtitle']) {
        let free_from = 0.75 - 1e-9
        for (const { text, start_seconds, end_seconds } of captions.filter((caption) => caption.kind === kind)) {
          assert.ok(
            start_seconds >= free_from && end_seconds > start_seconds + 1 && end_seconds <= seconds - 0.75 + 1e-9,
          )
          assert.ok(text !== '' && unitsOf(text) <= 114, text)
          free_from = end_seconds - 1e-9
        }
      }
    }),
    { seed, numRuns: 300, verbose: 1 },
  )
})
