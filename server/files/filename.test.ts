import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanFilename } from './filename.ts'

const CASES: ReadonlyArray<[sent: string | undefined, kept: string]> = [
  ['a.png', 'a.png'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\me\\clip.mp4', 'clip.mp4'],
  ['..', 'file'],
  ['../..', 'file'],
  ['.', 'file'],
  ['', 'file'],
  [undefined, 'file'],
  ['   ', 'file'],
  ['/', 'file'],
  ['a\u0000b\r\nc\u007f\u0085.png', 'abc.png'],
  ['a\u202egnp.exe', 'agnp.exe'],
  ['夏の思い出.mp4', '夏の思い出.mp4'],
  ['\ud800.png', '\ufffd.png'],
  ['.hidden', '.hidden'],
]

test('a name keeps its base name and loses paths, control and reordering characters', () => {
  for (const [sent, kept] of CASES) assert.equal(cleanFilename(sent), kept, JSON.stringify(sent))
})

test('a name is cut to 255 bytes of UTF-8, never inside a code point', () => {
  assert.equal(cleanFilename('a'.repeat(255)), 'a'.repeat(255))
  assert.equal(cleanFilename('a'.repeat(256)), 'a'.repeat(255))
  assert.equal(cleanFilename('思'.repeat(85)), '思'.repeat(85))
  assert.equal(cleanFilename('a' + '思'.repeat(100)), 'a' + '思'.repeat(84))
  assert.equal(cleanFilename('aa' + '🎬'.repeat(75)), 'aa' + '🎬'.repeat(63))
})
