import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { pictureSize } from './picture-size.ts'

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
    assert.deepEqual(pictureSize(urlOf(format, bytes)), { format: name, width: 64, height: 48 })
    for (let length = 0; length < bytes.length; length++) pictureSize(urlOf(format, bytes.subarray(0, length)))
  })
}

test('reads lossless WebP and WebP with transparency', async () => {
  const image = sharp({ create: { width: 300, height: 5, channels: 4, background: '#12345678' } })
  for (const lossless of [true, false]) {
    const bytes = await image.clone().webp({ lossless }).toBuffer()
    assert.deepEqual(pictureSize(urlOf('webp', bytes)), { format: 'WebP', width: 300, height: 5 })
  }
})

test('a picture elsewhere and an unknown one have no known size', () => {
  for (const url of ['https://example.com/a.png', 'data:image/png;base64,AAAA', 'data:text/plain,hello'])
    assert.equal(pictureSize(url), null)
})

function urlOf(format: string, bytes: Uint8Array): string {
  return `data:image/${format};base64,${Buffer.from(bytes).toString('base64')}`
}
