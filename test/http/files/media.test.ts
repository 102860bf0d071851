import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { psnr } from '../../support/data/clip.ts'
import {
  encoded,
  pngHeader,
  type SampleKind,
  sampleMedia,
  samplePicture,
  turnedPhoto,
  withZeroedScan,
} from '../../support/data/media.ts'
import { type FilesApp, sendForm, startFiles } from '../../support/http/files-app.ts'
import { bearer } from '../../support/http/send.ts'

let app: FilesApp
let dir: string
before(async () => {
  app = await startFiles()
  dir = await mkdtemp(join(tmpdir(), 'kinora-media-'))
})
after(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

async function send(bytes: string | Uint8Array, purpose: string, filename = 'a.bin', type?: string) {
  const parts = [
    { name: 'file', filename, body: bytes, type },
    { name: 'purpose', body: purpose },
  ]
  return sendForm(app, parts)
}

async function mediaTypeOf(id: string): Promise<string | null> {
  const response = await fetch(`${app.url}/v1/files/${id}/content`, { headers: bearer(app.key) })
  await response.arrayBuffer()
  return response.headers.get('content-type')
}

/** Uploads under each media purpose: one takes the bytes, the other two refuse them. */
async function assertOnlyFits(bytes: Uint8Array, purpose: string, mediaType: string): Promise<void> {
  for (const each of ['vision', 'video', 'audio']) {
    const { status, body } = await send(bytes, each, 'no-hint', 'application/x-lie')
    if (each === purpose) {
      assert.equal(status, 200, `${mediaType} as ${each}: ${JSON.stringify(body)}`)
      assert.equal(await mediaTypeOf(body.id), mediaType)
    } else {
      assert.equal(status, 400, `${mediaType} as ${each}`)
      assert.equal(body.error.code, 'invalid_file')
      assert.equal(body.error.param, 'file')
    }
  }
}

test('pictures are recognized by their bytes and accepted for vision alone', async () => {
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
    await assertOnlyFits(await samplePicture(format), 'vision', `image/${format}`)
  }
})

test('clips and sounds are recognized by their bytes and accepted for their purpose alone', async () => {
  const types: Partial<Record<SampleKind, [purpose: string, mediaType: string]>> = {
    mp4: ['video', 'video/mp4'],
    mov: ['video', 'video/quicktime'],
    webm: ['video', 'video/webm'],
    mp3: ['audio', 'audio/mpeg'],
    wav: ['audio', 'audio/wav'],
    m4a: ['audio', 'audio/mp4'],
    aac: ['audio', 'audio/aac'],
    flac: ['audio', 'audio/flac'],
    ogg: ['audio', 'audio/ogg'],
  }
  const paths = await sampleMedia(dir, Object.keys(types) as SampleKind[], { seconds: 1 })
  for (const [kind, [purpose, mediaType]] of Object.entries(types)) {
    await assertOnlyFits(await readFile(paths[kind as SampleKind]), purpose, mediaType)
  }
})

test('400 for bytes that do not match their name and declared type', async () => {
  const html = '<!doctype html><script>alert(1)</script>'
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
  const lies: ReadonlyArray<[bytes: string, purpose: string, filename: string, type: string]> = [
    [html, 'video', 'clip.mp4', 'video/mp4'],
    [html, 'vision', 'a.png', 'image/png'],
    [svg, 'vision', 'a.svg', 'image/svg+xml'],
    ['%PDF-1.7\n', 'vision', 'a.png', 'image/png'],
    ['\u0000\u0000\u0000', 'audio', 'a.mp3', 'audio/mpeg'],
  ]
  for (const lie of lies) {
    const { status, body } = await send(...lie)
    assert.equal(status, 400, lie[2])
    assert.equal(body.error.code, 'invalid_file')
  }
})

test('a document is served under the type of its bytes, never the one its sender declared', async () => {
  const page = await send('<!doctype html><script>alert(1)</script>', 'user_data', 'a.html', 'text/html')
  assert.equal(await mediaTypeOf(page.body.id), 'application/octet-stream')
  const picture = await send(await samplePicture('png'), 'assistants', 'a.html', 'text/html')
  assert.equal(await mediaTypeOf(picture.body.id), 'image/png')
})

test('what phones call 50 megapixels is accepted, more are refused from the header alone', async () => {
  for (const [width, height] of [
    [10_000, 5_000],
    [8160, 6144],
    [8192, 6144],
  ] as const) {
    const blank = sharp({ create: { width, height, channels: 3, background: '#104080' } })
    assert.equal((await send(await blank.png({ compressionLevel: 1 }).toBuffer(), 'vision')).status, 200)
  }
  for (const [width, height] of [
    [8192, 6145],
    [60_000, 60_000],
    [2_147_483_647, 2_147_483_647],
  ] as const) {
    const { status, body } = await send(pngHeader(width, height), 'vision')
    assert.equal(status, 400, `${width}×${height}`)
    assert.equal(body.error.code, 'invalid_file')
  }
})

test('400 for a picture whose header cannot be read', async () => {
  const picture = Buffer.from(await samplePicture('jpeg'))
  const { status, body } = await send(picture.subarray(0, 30), 'vision')
  assert.equal(status, 400)
  assert.equal(body.error.code, 'invalid_file')
})

/** What video engines would be sent in place of an upload; null for the upload itself. */
async function copyOf(id: string): Promise<{ bytes: Buffer; media_type: string } | null> {
  const { rows } = await app.database.pool.query('select engine_copy from files where id = $1', [id])
  const copy = rows[0].engine_copy
  if (copy === null) return null
  const bytes = await app.ctx.blobs.withLocalFile(copy.blob_key, (path) => readFile(path))
  return { bytes, media_type: copy.media_type }
}

test('engines are sent the turned pixels of a photo with a rotation tag, people its own bytes', async () => {
  const photo = await turnedPhoto({ width: 64, height: 48 })
  const png = await sharp(photo).withMetadata({ orientation: 6 }).png().toBuffer()
  const webp = await sharp(photo).withMetadata({ orientation: 8 }).webp().toBuffer()
  for (const [bytes, format] of [
    [photo, 'jpeg'],
    [png, 'png'],
    [webp, 'webp'],
  ] as const) {
    const { body } = await send(bytes, 'vision')
    const copy = (await copyOf(body.id))!
    const { width, height, orientation = 1, format: found } = await sharp(copy.bytes).metadata()
    assert.deepEqual([width, height, orientation, found], [48, 64, 1, format])
    const content = await fetch(`${app.url}/v1/files/${body.id}/content`, { headers: bearer(app.key) })
    assert.deepEqual(Buffer.from(await content.arrayBuffer()), Buffer.from(bytes))
  }
  assert.equal(await copyOf((await send(await samplePicture('jpeg'), 'vision')).body.id), null)
})

test('a JPEG that every viewer shows is accepted and sent well formed; one that lacks part of the picture is refused', async () => {
  const photo = Buffer.from(await samplePicture('jpeg'))
  const plain = await sharp(photo).raw().toBuffer()
  for (const bytes of [withZeroedScan(photo), photo.subarray(0, -2)]) {
    const { status, body } = await send(bytes, 'vision')
    assert.equal(status, 200, JSON.stringify(body))
    const sent = await sharp((await copyOf(body.id))!.bytes, { failOn: 'warning' })
      .raw()
      .toBuffer()
    assert.ok(psnr(plain, sent) > 30, `${psnr(plain, sent)} dB`)
  }
  const { status, body } = await send(photo.subarray(0, Math.floor(photo.length / 2)), 'vision')
  assert.equal(status, 400)
  assert.match(body.error.message, /damaged or incomplete: it cannot be decoded to its end/)
})

test('a picture of any format that cannot be decoded to its end is refused at upload, with the field and the remedy', async () => {
  for (const format of ['png', 'webp', 'gif', 'jpeg'] as const) {
    const picture = await samplePicture(format)
    assert.equal((await send(picture, 'vision')).status, 200, format)
    const { status, body } = await send(picture.subarray(0, Math.floor(picture.length / 2)), 'vision')
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_file', 'file'], format)
    assert.match(body.error.message, /^Invalid file: the picture is damaged or incomplete: .* Export it again\.$/)
  }
})

test('an MP4 or WebM with sound and no picture is a sound, and its name ends like one', async () => {
  const { m4a, webm } = await encoded(
    dir,
    '-f lavfi -i sine=d=1 -c:a aac -f mp4 -brand mp42 m4a -c:a libopus -f webm webm',
    ['m4a', 'webm'],
  )
  for (const [path, type, name] of [
    [m4a, 'audio/mp4', 'voice.m4a'],
    [webm, 'audio/webm', 'voice.webm'],
  ] as const) {
    const { status, body } = await send(await readFile(path), 'audio', 'voice.mp4')
    assert.equal(status, 200, JSON.stringify(body))
    const content = await fetch(`${app.url}/v1/files/${body.id}/content`, { headers: bearer(app.key) })
    await content.arrayBuffer()
    assert.equal(content.headers.get('content-type'), type)
    assert.equal(content.headers.get('content-disposition'), `attachment; filename="${name}"`)
    const refused = await send(await readFile(path), 'video')
    assert.match(refused.body.error.message, /recognized as audio\/\w+, sound without a picture/)
  }
})

test('an MP3 with zeros before its first frame is accepted, and sent without them', async () => {
  const { mp3 } = await sampleMedia(dir, ['mp3'], { seconds: 1, name: 'zeros' })
  const bytes = await readFile(mp3)
  const tag = 10 + bytes.subarray(6, 10).reduce((size, byte) => size * 128 + byte, 0)
  for (const padded of [
    Buffer.concat([bytes.subarray(0, tag), Buffer.alloc(10), bytes.subarray(tag)]),
    Buffer.concat([Buffer.alloc(1000), bytes.subarray(tag)]),
  ]) {
    const { status, body } = await send(padded, 'audio')
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await copyOf(body.id))!.bytes.readUInt16BE(0) >> 5, 0x7ff, 'a frame at once')
  }
})

test('refused media leave nothing behind', async () => {
  const kept = async () => [app.stored(), (await app.database.pool.query('select from files')).rowCount]
  const before = await kept()
  const picture = Buffer.from(await samplePicture('jpeg'))
  for (const [bytes, purpose] of [
    [picture, 'audio'],
    [picture.subarray(0, 30), 'vision'],
    [pngHeader(60_000, 60_000), 'vision'],
  ] as const) {
    assert.equal((await send(bytes, purpose)).status, 400)
    assert.deepEqual(await kept(), before)
  }
})
