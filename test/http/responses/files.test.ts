import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import sharp from 'sharp'
import { pngHeader, samplePicture } from '../../support/data/media.ts'
import { lockedPdf, samplePdf } from '../../support/data/pdf.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { dataUrl, messageParts } from '../chat/message-parts.ts'

/** `m` is given bytes, `fetcher` fetches URLs by itself, `blind` sees nothing. */
const MODELS = [
  { id: 'm', engine: { fetches_urls: false, inputs: 'data' } },
  { id: 'fetcher', engine: { fetches_urls: true } },
  { id: 'remote', engine: 'sandbox' },
  { id: 'blind', capabilities: ['tools', 'video', 'audio'] },
]
const CLIP = readFileSync(new URL('../../../server/engines/video/instant.mp4', import.meta.url))
/** The shortest sound there is: a WAV of silence. */
const WAV = Buffer.from(
  '524946462400000057415645666d74201000000001000100401f0000401f0000010008006461746100000000',
  'hex',
)

let service: ChatApp
let png: Buffer
before(async () => {
  service = await startChatApp(MODELS)
  png = Buffer.from(await samplePicture('png'))
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const { ask, given, assertRefused, upload } = messageParts(() => service, 'responses')
const image = (members: object) => ({ type: 'input_image', ...members })
const file = (members: object) => ({ type: 'input_file', ...members })

test('200: an image by URL, data URL or file id, with its detail', async () => {
  const url = dataUrl('image/png', png)
  const file_id = await upload(png, 'vision')
  const shown = (detail: string) => [{ type: 'image_url', image_url: { url, detail } }]
  assert.deepEqual(await given([image({ image_url: url })]), shown('auto'))
  assert.deepEqual(await given([image({ image_url: url, detail: 'low' })]), shown('low'))
  assert.deepEqual(await given([image({ image_url: url, detail: 'original' })]), shown('high'))
  assert.deepEqual(await given([image({ file_id, detail: 'low' })]), shown('low'))
  assert.deepEqual(await given([image({ image_url: 'https://93.184.215.14/a.png' })], 'fetcher'), [
    { type: 'image_url', image_url: { url: 'https://93.184.215.14/a.png', detail: 'auto' } },
  ])
  const [signed] = await given([image({ file_id })], 'fetcher')
  const served = await fetch(signed.image_url.url)
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), png)
})

test('200: an image as other clients send it: in an object, of any declared type, or as bare or wrapped base64', async () => {
  const base64 = Buffer.from(png).toString('base64')
  const shown = (detail: string) => [{ type: 'image_url', image_url: { url: dataUrl('image/png', png), detail } }]
  const urls = [`data:;base64,${base64}`, dataUrl('application/octet-stream', png), base64]
  for (const url of [...urls, base64.replace(/.{76}/g, '$&\n')]) {
    assert.deepEqual(await given([image({ image_url: url })]), shown('auto'))
    assert.deepEqual(await given([image({ image_url: { url, detail: 'low' } })]), shown('low'))
  }
})

test('200: a file of any document purpose or of `vision`; text with its file name, for every model', async () => {
  const text = [{ type: 'text', text: 'File "notes.md":\nHello' }]
  for (const purpose of ['user_data', 'assistants', 'batch', 'evals']) {
    assert.deepEqual(
      await given([file({ file_id: await upload('Hello', purpose, { filename: 'notes.md' }) })], 'blind'),
      text[0]!.text,
    )
  }
  const inline = file({ file_data: dataUrl('text/plain', Buffer.from('Hello')), filename: 'notes.md' })
  assert.deepEqual(await given([inline]), text[0]!.text)
  const bare = file({ file_data: Buffer.from('Hello').toString('base64'), filename: 'notes.md' })
  assert.deepEqual(await given([bare]), text[0]!.text)
  const [picture] = await given([file({ file_id: await upload(png, 'vision') })])
  assert.equal(picture.image_url.url, dataUrl('image/png', png))
})

test('200: a PDF becomes one image per page, in its place', async () => {
  const text = { type: 'input_text', text: 'Read' }
  const file_id = await upload(samplePdf(3), 'user_data')
  const { status } = await ask([text, file({ file_id }), text])
  assert.equal(status, 200)
  const parts = service.asked().messages[0].content
  assert.deepEqual(
    parts.map((part: { type: string }) => part.type),
    ['text', 'image_url', 'image_url', 'image_url', 'text'],
  )
  const output = { type: 'function_call_output', call_id: 'c', output: [file({ file_id })] }
  const answer = await respond([{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, output])
  assert.equal(answer.status, 200)
  assert.equal(service.asked().messages.at(-1).content.length, 3)
})

test('200: a page of 200 inches is rendered no larger than any other', async () => {
  const pdf = samplePdf(1, { width: 14_400, height: 14_400 })
  const [page] = await given([file({ file_data: dataUrl('application/pdf', pdf), filename: 'a.pdf' })])
  const url: string = page.image_url.url
  const { width, height } = await sharp(Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')).metadata()
  assert.deepEqual([width, height], [1568, 1568])
})

test('400 for a PDF of 5,000 pages, an encrypted one and a damaged one', async () => {
  const cases: Array<[pdf: Buffer, message: RegExp]> = [
    [samplePdf(5000), /more than 50 pages/],
    [lockedPdf(), /protected by a password|damaged/],
    [Buffer.from('%PDF-1.7\nnothing'), /damaged/],
  ]
  const stored = file({ file_id: await upload(cases[1]![0], 'user_data') })
  await assertRefused(stored, 'invalid_file', 'file_id', cases[1]![1])
  for (const [pdf, message] of cases) {
    await assertRefused(file({ file_data: dataUrl('application/pdf', pdf) }), 'invalid_file_data', 'file_data', message)
  }
})

test('400 with the same message for a file that does not exist, was deleted or is another organization’s', async () => {
  const foreign = await upload(png, 'vision', { who: service.outsider })
  const deleted = await upload(png, 'vision')
  await send(service.app, 'DELETE', `/v1/files/${deleted}`, { key: service.person.key })
  const texts = new Set<string>()
  for (const file_id of [foreign, deleted, 'file-01ARZ3NDEKTSV4RRFFQ69G5FAV', "'; drop table files"]) {
    for (const part of [image({ file_id }), file({ file_id })]) {
      texts.add((await assertRefused(part, 'invalid_file', 'file_id', /no such file/)).replace(file_id, ''))
    }
  }
  assert.equal(texts.size, 1)
})

test('400 for an image with a purpose that is not for images', async () => {
  for (const purpose of ['user_data', 'assistants']) {
    const part = image({ file_id: await upload(png, purpose) })
    const text = await assertRefused(
      part,
      'invalid_file_purpose',
      'file_id',
      /purpose '.+'\. Upload it with one of: 'vision'/,
    )
    assert.ok(text.includes(purpose))
  }
})

test('400 for video and audio in every form: only chat completions accept them', async () => {
  const message = /Use POST \/v1\/chat\/completions/
  for (const [bytes, purpose] of [
    [CLIP, 'video'],
    [WAV, 'audio'],
  ] as const) {
    for (const each of [purpose, 'user_data']) {
      await assertRefused(file({ file_id: await upload(bytes, each) }), 'invalid_file', 'file_id', message)
    }
    await assertRefused(image({ file_id: await upload(bytes, purpose) }), 'invalid_file', 'file_id', message)
    const file_data = bytes.toString('base64')
    await assertRefused(file({ file_data, filename: 'a' }), 'invalid_file_data', 'file_data', message)
  }
  for (const type of ['input_audio', 'input_video']) {
    await assertRefused({ type, data: 'x' }, 'invalid_value', 'type', /use POST \/v1\/chat\/completions/)
  }
})

test('400 for images in every form when the model does not accept images', async () => {
  const message = /The model 'blind' does not take images/
  const parts = [
    image({ image_url: 'https://example.com/a.png' }),
    image({ image_url: dataUrl('image/png', png) }),
    image({ file_id: await upload(png, 'vision') }),
    file({ file_data: dataUrl('application/pdf', samplePdf()), filename: 'a.pdf' }),
  ]
  for (const part of parts) await assertRefused(part, 'model_capability_mismatch', 'type', message, 'blind')
})

test('400 for URLs and data that are not allowed or cannot be read', async () => {
  const cases = [
    [image({ image_url: 'http://169.254.169.254/latest' }), 'invalid_image_url', 'image_url', /cannot be fetched/],
    [image({ image_url: 'file:///etc/passwd' }), 'invalid_image_url', 'image_url', /cannot be fetched/],
    [image({ image_url: 'data:image/png;base64,AAAA' }), 'invalid_image_url', 'image_url', /./],
    [
      image({ image_url: dataUrl('image/png', pngHeader(10_100, 5000)) }),
      'invalid_image_url',
      'image_url',
      /50 megapixels/,
    ],
    [file({ file_url: 'http://localhost/a.pdf' }), 'invalid_file_data', 'file_url', /cannot be fetched/],
    [file({ file_data: 'not base64!' }), 'invalid_file_data', 'file_data', /not valid base64/],
    [file({ file_data: Buffer.from('a\0b').toString('base64') }), 'invalid_file_data', 'file_data', /no type/],
  ] as const
  for (const [part, code, member, message] of cases) await assertRefused(part, code, member, message)
})

test('200: files of earlier responses that are gone become a text; those of the new input are refused', async () => {
  const [picture, notes] = [await upload(png, 'vision'), await upload('Hello', 'user_data')]
  const url = 'https://images.invalid/a.png'
  const shown = [image({ file_id: picture }), file({ file_id: notes, filename: 'notes.md' })]
  const first = await ask(shown)
  const remote = await ask([image({ image_url: url })], 'remote')
  assert.deepEqual([first.status, remote.status], [200, 200])
  for (const id of [picture, notes]) await send(service.app, 'DELETE', `/v1/files/${id}`, { key: service.person.key })
  const texts = async (path: string, { id }: { id: string }) => {
    const body = { model: 'm', previous_response_id: id, ...(path === '/v1/responses' && { input: 'And?' }) }
    const { status, body: answered } = await send(service.app, 'POST', path, { key: service.person.key }, body)
    assert.equal(status, 200, JSON.stringify(answered))
    const { content } = service.asked().messages[0]
    return typeof content === 'string' ? content : content.map(({ text }: { text: string }) => text)
  }
  const gone = ['[An image that was here is no longer available.]', '[A file that was here is no longer available.]']
  for (const path of ['/v1/responses', '/v1/responses/compact']) {
    assert.deepEqual(await texts(path, first.body), gone)
    assert.deepEqual(await texts(path, remote.body), gone[0])
  }
  await assertRefused(image({ file_id: picture }), 'invalid_file', 'file_id', /no such file/)
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

function respond(input: unknown, model = 'm'): Promise<HttpResponse> {
  return send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model, input })
}
