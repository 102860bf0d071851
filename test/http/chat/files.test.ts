import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pngHeader, sampleMedia, samplePicture } from '../../support/data/media.ts'
import { samplePdf } from '../../support/data/pdf.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'
import { dataUrl, messageParts } from './message-parts.ts'

/** `m` is given bytes, `fetcher` fetches URLs by itself, the others lack one capability each. */
const MODELS = [
  { id: 'm', engine: { fetches_urls: false, inputs: 'data' } },
  { id: 'fetcher', engine: { fetches_urls: true } },
  { id: 'blind', capabilities: ['video', 'audio'] },
  { id: 'still', capabilities: ['vision', 'audio'] },
  { id: 'deaf', capabilities: ['vision', 'video'] },
]

const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
const DAY_SECONDS = 86_400

let service: ChatApp
let png: Buffer
let wav: Buffer
before(async () => {
  service = await startChatApp(MODELS, 'signed_url_ttl_seconds: 300\n')
  png = Buffer.from(await samplePicture('png'))
  const dir = await mkdtemp(join(tmpdir(), 'kinora-parts-'))
  wav = await readFile((await sampleMedia(dir, ['wav'], { seconds: 1 })).wav)
  await rm(dir, { recursive: true, force: true })
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const { ask, given, assertRefused, upload } = messageParts(() => service, 'chat')
const file = (members: object) => ({ type: 'file', file: members })
const image = (url: string) => ({ type: 'image_url', image_url: { url } })

test('200: a file becomes an image, video or audio part by its content, whatever its purpose', async () => {
  const cases = [
    [png, 'vision', image(dataUrl('image/png', png))],
    [png, 'user_data', image(dataUrl('image/png', png))],
    [CLIP, 'video', { type: 'video_url', video_url: { url: dataUrl('video/mp4', CLIP) } }],
    [CLIP, 'assistants', { type: 'video_url', video_url: { url: dataUrl('video/mp4', CLIP) } }],
    [wav, 'audio', { type: 'audio_url', audio_url: { url: dataUrl('audio/wav', wav) } }],
  ] as const
  for (const [bytes, purpose, part] of cases) {
    assert.deepEqual(await given([file({ file_id: await upload(bytes, purpose) })]), [part], purpose)
    assert.deepEqual(await given([file({ file_data: bytes.toString('base64') })]), [part], purpose)
    assert.deepEqual(
      await given([file({ file_data: dataUrl('application/octet-stream', bytes), filename: 'x.txt' })]),
      [part],
    )
  }
})

test('200: UTF-8 text becomes a text part with its file name, whatever its purpose and form', async () => {
  const texts = [
    'Hello',
    'a,b\r\n1,2\n',
    '# 見出し\n\t本文',
    '{"a":1}',
    '<?xml version="1.0"?><a/>',
    '\u001b[1mbold\u001b[0m',
    '<html></html>',
  ]
  for (const text of texts) {
    const file_id = await upload(text, 'user_data', { filename: 'notes.md' })
    const part = { type: 'text', text: `File "notes.md":\n${text}` }
    assert.deepEqual(await given([file({ file_id })]), [part])
    assert.deepEqual(await given([file({ file_id })], 'fetcher'), [part])
    assert.deepEqual(
      await given([file({ file_data: dataUrl('text/plain', Buffer.from(text)), filename: '../x/notes.md' })]),
      [part],
    )
  }
  const bom = dataUrl('text/plain;charset=utf-8', Buffer.from('\ufeffHi'))
  assert.deepEqual(await given([file({ file_data: bom })]), [{ type: 'text', text: 'File "file":\nHi' }])
})

test('400 with the same message for a file that does not exist, was deleted, has expired or is another organization’s', async () => {
  const foreign = await upload(png, 'vision', { who: service.outsider })
  const deleted = await upload(png, 'vision')
  await send(service.app, 'DELETE', `/v1/files/${deleted}`, { key: service.person.key })
  const expired = await upload(png, 'vision')
  service.app.clock.advance(30 * DAY_SECONDS)
  const texts = new Set<string>()
  for (const id of [foreign, deleted, expired, 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV', 'x', "'; drop table files"]) {
    const text = await assertRefused(file({ file_id: id }), 'invalid_file', 'file.file_id', /no such file/)
    texts.add(text.replace(id, ''))
  }
  assert.equal(texts.size, 1)
})

test('400 for bytes that are neither media nor PDF nor text', async () => {
  const zip = Buffer.from('504b0304140000000000', 'hex')
  for (const bytes of [
    zip,
    Buffer.from('a\0b'),
    Buffer.from('caf\xe9', 'latin1'),
    Buffer.from('\ufeffhi', 'utf16le'),
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]),
  ]) {
    await assertRefused(
      file({ file_id: await upload(bytes, 'user_data') }),
      'invalid_file',
      'file.file_id',
      /no type that a chat model can be given/,
    )
    await assertRefused(
      file({ file_data: bytes.toString('base64') }),
      'invalid_file_data',
      'file.file_data',
      /no type that a chat model can be given/,
    )
  }
})

test('400 for content that the model does not accept; every model accepts text', async () => {
  const cases = [
    ['blind', 'images', png, 'vision'],
    ['blind', 'images, which the pages of a PDF become', samplePdf(), 'user_data'],
    ['still', 'video', CLIP, 'video'],
    ['deaf', 'sound', wav, 'audio'],
  ] as const
  for (const [model, what, bytes, purpose] of cases) {
    for (const members of [{ file_id: await upload(bytes, purpose) }, { file_data: bytes.toString('base64') }]) {
      const { status, body } = await ask([file(members)], model)
      const message = `The model '${model}' does not take ${what}. GET /v1/models lists what each model takes.`
      const error = {
        message,
        type: 'invalid_request_error',
        param: 'messages[0].content[0].file',
        code: 'model_capability_mismatch',
      }
      assert.deepEqual([status, body], [400, { error }])
    }
  }
  for (const { id } of MODELS)
    assert.equal((await given([file({ file_id: await upload('Hi', 'batch') })], id)).length, 1)
})

test('200 with a signed URL when the engine fetches files; it serves the same bytes for the configured time', async () => {
  const uploads = [
    [png, 'vision', 'image_url'],
    [png, 'evals', 'image_url'],
    [CLIP, 'video', 'video_url'],
    [wav, 'audio', 'audio_url'],
  ] as const
  for (const [bytes, purpose, member] of uploads) {
    const file_id = await upload(bytes, purpose)
    const [part] = await given([file({ file_id })], 'fetcher')
    assert.equal(part.type, member)
    const url: string = part[member].url
    assert.ok(url.startsWith(`${service.app.ctx.site.engine_url}/v1/files/${file_id}/signed/file.`), url)
    const served = await fetch(url)
    assert.equal(served.status, 200)
    assert.deepEqual(Buffer.from(await served.arrayBuffer()), Buffer.from(bytes))
    assert.equal((await fetch(url.replace('signature=', 'signature=x'))).status, 403)
    service.app.clock.advance(299)
    assert.equal((await fetch(url)).status, 200)
    service.app.clock.advance(2)
    assert.equal((await fetch(url)).status, 403)
  }
  const [page] = await given([file({ file_id: await upload(samplePdf(), 'user_data') })], 'fetcher')
  assert.match(page.image_url.url, /^data:image\/jpeg;base64,/)
})

test('400 for an image over 50 megapixels that was uploaded as a document, sent as bytes or as a URL', async () => {
  const file_id = await upload(Buffer.from(pngHeader(10_100, 5000)), 'user_data')
  for (const model of ['m', 'fetcher']) {
    await assertRefused(file({ file_id }), 'invalid_file', 'file.file_id', /50 megapixels/, model)
  }
})

test('400 above the size of its kind, and above 64 MB for a whole request, where the bytes pass through the service', async () => {
  const padded = (bytes: Uint8Array, size: number) => Buffer.concat([bytes, Buffer.alloc(size - bytes.length)])
  const at = await upload(padded(png, 20_000_000), 'vision')
  const above = await upload(padded(png, 20_000_001), 'vision')
  const long = await upload('x'.repeat(10_000_001), 'user_data')
  assert.equal((await given([file({ file_id: at })])).length, 1)
  await assertRefused(file({ file_id: above }), 'invalid_file', 'file.file_id', /larger than 20000000 bytes/)
  await assertRefused(file({ file_id: long }), 'invalid_file', 'file.file_id', /larger than 10000000 bytes/)
  assert.equal((await given([file({ file_id: above })], 'fetcher')).length, 1)
  const four = Array.from({ length: 4 }, () => file({ file_id: at }))
  assert.equal((await given(four.slice(0, 3))).length, 3)
  const { status, body } = await ask(four)
  assert.deepEqual(
    [status, body.error.code, body.error.param],
    [400, 'invalid_file', 'messages[0].content[3].file.file_id'],
  )
  assert.match(body.error.message, /at most 64000000 bytes/)
})

test('400, not 500, for a file whose bytes are lost', async () => {
  const file_id = await upload(png, 'user_data')
  const { rows } = await service.app.database.pool.query('select blob_key from files where id = $1', [file_id])
  await service.app.ctx.blobs.remove(rows[0].blob_key)
  for (const model of ['m', 'fetcher'])
    await assertRefused(file({ file_id }), 'invalid_file', 'file.file_id', /no such file/, model)
})

test('the bytes of files count in the memory of their organization until the request is answered', async () => {
  const file_id = await upload('x'.repeat(200_000), 'user_data')
  const { app, person, upstream } = service
  upstream.reply({ kind: 'stall' })
  const asking = ask([file({ file_id })])
  while (upstream.requests.length === 0) await nextTurn()
  assert.ok(app.ctx.budget.held(person.org_id) >= 200_000)
  upstream.release()
  assert.equal((await asking).status, 200)
  while (app.ctx.budget.held() > 0) await nextTurn()
})
