import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pngHeader, type SampleKind, sampleMedia, samplePicture } from '../../support/data/media.ts'
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

test('50 megapixels are accepted, more are refused from the header alone', async () => {
  assert.equal((await send(pngHeader(10_000, 5_000), 'vision')).status, 200)
  for (const [width, height] of [
    [10_000, 5_001],
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

test('refused media leave nothing behind', async () => {
  const before = app.stored()
  const picture = Buffer.from(await samplePicture('jpeg'))
  for (const [bytes, purpose] of [
    [picture, 'audio'],
    [picture.subarray(0, 30), 'vision'],
    [pngHeader(60_000, 60_000), 'vision'],
  ] as const) {
    assert.equal((await send(bytes, purpose)).status, 400)
    const { rows } = await app.database.pool.query('select count(*)::int as count from files')
    assert.deepEqual([app.stored(), rows[0].count], [before, before])
  }
})
