import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withEnding } from './recognize.ts'

test('a name ends with the ending of its type, which replaces that of another medium and nothing else', () => {
  for (const [name, media_type, expected] of [
    ['a.png', 'image/png', 'a.png'],
    ['IMG_1.JPEG', 'image/jpeg', 'IMG_1.JPEG'],
    ['photo.png', 'image/jpeg', 'photo.jpg'],
    ['voice.mp4', 'audio/mp4', 'voice.m4a'],
    ['upload', 'video/quicktime', 'upload.mov'],
    ['take 1.2', 'video/webm', 'take 1.2.webm'],
    ['.png', 'image/gif', 'file.gif'],
    ['notes.txt', 'application/octet-stream', 'notes.txt'],
  ] as const)
    assert.equal(withEnding(name, media_type), expected)
})
