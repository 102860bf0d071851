import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BYTES_MAX, mistakeOf, purposeOf } from './purposes.ts'

test('a file gets the purpose of its kind, by type or by name, and is a document otherwise', () => {
  const files = [
    ['a.png', 'image/png', 'vision'],
    ['A.JPEG', '', 'vision'],
    ['clip.mov', 'video/quicktime', 'video'],
    ['clip.webm', '', 'video'],
    ['tone.m4a', 'audio/x-m4a', 'audio'],
    ['drawing.svg', 'image/svg+xml', 'user_data'],
    ['photo.heic', 'image/heic', 'user_data'],
    ['report.pdf', 'application/pdf', 'user_data'],
    ['noending', '', 'user_data'],
  ] as const
  for (const [name, type, purpose] of files) assert.equal(purposeOf({ name, type }), purpose, name)
})

test('empty and oversized files are refused, and so are media of another kind; documents may be of any kind', () => {
  const file = { name: 'a.png', type: 'image/png', size: 1 }
  assert.equal(mistakeOf(file, 'vision'), null)
  assert.equal(mistakeOf(file, 'audio'), 'wrong_kind')
  assert.equal(mistakeOf(file, 'batch'), null)
  assert.equal(mistakeOf({ ...file, size: 0 }, 'vision'), 'empty')
  assert.equal(mistakeOf({ ...file, size: BYTES_MAX }, 'vision'), null)
  assert.equal(mistakeOf({ ...file, size: BYTES_MAX + 1 }, 'user_data'), 'too_large')
})
