import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { describeMedia, pictureOf } from './media.ts'

for (const [format, name] of [
  ['png', 'PNG'],
  ['jpeg', 'JPEG'],
  ['gif', 'GIF'],
  ['webp', 'WebP'],
] as const) {
  test(`reads the size of a ${name}, and none out of a part of one`, async () => {
    const bytes = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
      .toFormat(format)
      .toBuffer()
    assert.deepEqual(pictureOf(urlOf(format, bytes)), { format: name, width: 64, height: 48 })
    for (let length = 0; length < bytes.length; length++) pictureOf(urlOf(format, bytes.subarray(0, length)))
  })
}

test('reads lossless WebP and WebP with transparency', async () => {
  const image = sharp({ create: { width: 300, height: 5, channels: 4, background: '#12345678' } })
  for (const lossless of [true, false]) {
    const bytes = await image.clone().webp({ lossless }).toBuffer()
    assert.deepEqual(pictureOf(urlOf('webp', bytes)), { format: 'WebP', width: 300, height: 5 })
  }
})

test('pictures elsewhere and unknown ones are counted without facts', () => {
  const urls = ['https://example.com/a.png', 'data:image/png;base64,AAAA', 'data:text/plain,hello']
  const parts = urls.map((url) => ({ type: 'image_url' as const, image_url: { url } }))
  assert.equal(describeMedia(parts, false), '3 images')
  assert.equal(describeMedia(parts.slice(1), true), '2枚の画像')
  assert.equal(describeMedia([], false), null)
})

function urlOf(format: string, bytes: Uint8Array): string {
  return `data:image/${format};base64,${Buffer.from(bytes).toString('base64')}`
}
