import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginningOf, keepDialogue, missingNames, unpairedTag } from './prompt.ts'

test('the dialogue of a proposal is that of the prompt, byte for byte, or the proposal is not offered', () => {
  const original = 'A cat. <d> Ｈｅｌｌｏ,\n$& you </d> A dog. <D>Wau</D>'
  assert.equal(
    keepDialogue(original, ' A tabby cat purrs. <d>Hello, you!</d> Then a dog: <d>Woof</d> \n'),
    'A tabby cat purrs. <d> Ｈｅｌｌｏ,\n$& you </d> Then a dog: <D>Wau</D>',
  )
  for (const unusable of [
    'A tabby cat. <d>Hello</d>',
    'A tabby <d>a</d> <d>b</d> <d>c</d>',
    'A tabby <d>a</d> <d>b</d> <d>c',
    '',
    original,
    `${'x'.repeat(7000)}<d>a</d><d>b</d>`,
  ])
    assert.equal(keepDialogue(original, unusable), null, unusable.slice(0, 40))
  assert.equal(keepDialogue('A cat.', 'A tabby <d>cat</d>.'), null)
})

test('a tag without its other half is found wherever it stands', () => {
  assert.deepEqual(unpairedTag('a <d>b</d> <d>c'), { tag: 'unclosed', from: 11, to: 14 })
  assert.deepEqual(unpairedTag('a</d> <d>b</d>'), { tag: 'unopened', from: 1, to: 5 })
  assert.equal(unpairedTag('<d>a <d>b</d></d> <D>c</D>'), null)
})

test('names of files that are not there are found, each once', () => {
  const files = { images: [1, 2], videos: [1], audio: [] }
  const prompt = '<Picture 2> <Picture 3> <Video 1> <Audio 1> <Picture 3> <Picture 0>'
  assert.deepEqual(missingNames(prompt, files), ['<Picture 3>', '<Audio 1>', '<Picture 0>'])
})

test('the beginning of a prompt ends with an ellipsis where it is cut, and never within a character', () => {
  assert.equal(beginningOf(' A boat ', 6), 'A boat')
  assert.equal(beginningOf('A boat and a ship', 8), 'A boat…')
  assert.equal(beginningOf('🚤🚤🚤🚤', 3), '🚤🚤…')
})
