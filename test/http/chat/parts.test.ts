import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { pngHeader, sampleMedia, samplePicture } from '../../support/data/media.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
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
const { ask, given, assertRefused } = messageParts(() => service, 'chat')

let service: ChatApp
let dir: string
let png: Uint8Array
let sounds: Record<'mp3' | 'wav' | 'flac' | 'ogg' | 'm4a', Buffer>
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kinora-parts-'))
  service = await startChatApp(MODELS)
  png = await samplePicture('png')
  const paths = await sampleMedia(dir, ['mp3', 'wav', 'flac', 'ogg', 'm4a'], { seconds: 1 })
  const read = Object.entries(paths).map(async ([kind, path]) => [kind, await readFile(path)] as const)
  sounds = Object.fromEntries(await Promise.all(read)) as typeof sounds
})
after(async () => {
  await service.close()
  await rm(dir, { recursive: true, force: true })
})
beforeEach(() => service.upstream.requests.splice(0))

const part = (type: 'image_url' | 'video_url' | 'audio_url', url: string, more = {}) => ({
  type,
  [type]: { url, ...more },
})
const sound = (data: string, format?: unknown) => ({ type: 'input_audio', input_audio: { data, format } })

test('200 for each image format as a data URL, sent unchanged with its detail', async () => {
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
    const bytes = await samplePicture(format)
    const image = (detail: string) => part('image_url', dataUrl(`image/${format}`, bytes), { detail })
    assert.deepEqual(await given([image('low')]), [image('low')], format)
    assert.deepEqual(await given([image('original')]), [image('high')], format)
  }
})

test('200 for video and audio as data URLs, alone and between texts', async () => {
  const clip = part('video_url', dataUrl('video/mp4', CLIP))
  const tune = part('audio_url', dataUrl('audio/mpeg', sounds.mp3))
  const text = { type: 'text', text: 'Compare' }
  assert.deepEqual(await given([text, clip, tune, text]), [text, clip, tune, text])
})

test('200 for each audio format as base64', async () => {
  for (const [format, bytes] of Object.entries(sounds)) {
    const audio = sound(bytes.toString('base64'), format)
    assert.deepEqual(await given([audio]), [audio], format)
  }
})

test('200 for a data URL with an unusual scheme, parameters or type: it is sent with the type of its bytes', async () => {
  const base64 = Buffer.from(png).toString('base64')
  for (const head of [
    'DATA:image/png',
    'data:IMAGE/PNG',
    'data:image/png;charset=utf-8',
    'data:image/jpeg',
    'data:image/jpg',
  ]) {
    assert.deepEqual(
      await given([part('image_url', `${head};base64,${base64}`)]),
      [part('image_url', dataUrl('image/png', png))],
      head,
    )
  }
})

test('400 for a data URL that is not base64', async () => {
  const base64 = Buffer.from(png).toString('base64')
  const forms = [
    'data:',
    'data:,',
    `data:image/png,${base64}`,
    `data:image/png;base64;x=1,${base64}`,
    `data:image/png;base64${base64}`,
    `data:${'image/png;a=b'.padEnd(300, 'b')};base64,${base64}`,
    `data:image/png;charset="a,b";base64,${base64}`,
  ]
  for (const url of forms)
    await assertRefused(part('image_url', url), 'invalid_image_url', 'image_url.url', /has the form 'data:/)
})

test('400 for base64 with percent signs, commas, too much padding or nothing', async () => {
  const base64 = Buffer.from(png).toString('base64')
  const short = Buffer.from(png.subarray(0, 100)).toString('base64')
  const bad = [
    encodeURIComponent(base64),
    `${short},${short}`,
    `${base64}====`,
    `=${base64.slice(1)}`,
    `é${base64.slice(1)}`,
    '',
    '=',
    'A===',
  ]
  for (const text of bad) {
    await assertRefused(
      part('image_url', `data:image/png;base64,${text}`),
      'invalid_image_url',
      'image_url.url',
      /not valid base64/,
    )
    if (text === '') continue
    await assertRefused(sound(text, 'wav'), 'invalid_file_data', 'input_audio.data', /not valid base64/)
  }
})

test('200 for base64 in the URL alphabet, or without padding: it is sent in the standard one, padded', async () => {
  for (const end of [0, 1, 2]) {
    const wav = Buffer.concat([sounds.wav, Buffer.alloc(end)])
    for (const unpadded of [wav.toString('base64').replace(/=+$/, ''), wav.toString('base64url')])
      assert.deepEqual(await given([sound(unpadded)]), [sound(wav.toString('base64'), 'wav')])
  }
  const image = [part('image_url', dataUrl('image/png', png))]
  const url = Buffer.from(png).toString('base64url')
  assert.match(url, /[-_]/)
  for (const text of [url, url.padEnd(Math.ceil(url.length / 4) * 4, '='), url.replace(/.{76}/g, '$&\n')]) {
    assert.deepEqual(await given([part('image_url', `data:image/png;base64,${text}`)]), image)
    assert.deepEqual(await given([part('image_url', text)]), image)
  }
})

test('400 for content that is not of the kind of its part', async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
  const images: Array<[type: string, bytes: Uint8Array | string]> = [
    ['image/png', '<!doctype html><script>alert(1)</script>'],
    ['image/svg+xml', svg],
    ['image/png', svg],
    ['image/png', CLIP],
    ['image/bmp', Buffer.from('424d46000000000000003600000028000000', 'hex')],
    ['image/png', new Uint8Array(1000)],
  ]
  for (const [type, bytes] of images)
    await assertRefused(part('image_url', dataUrl(type, bytes)), 'invalid_image_url', 'image_url.url')
  await assertRefused(
    part('video_url', dataUrl('video/mp4', png)),
    'invalid_file_data',
    'video_url.url',
    /its bytes are image\/png/,
  )
  await assertRefused(part('video_url', `data:video/jpeg;base64,/9j/,/9j/`), 'invalid_file_data', 'video_url.url')
  await assertRefused(
    part('audio_url', dataUrl('audio/mpeg', CLIP)),
    'invalid_file_data',
    'audio_url.url',
    /video\/mp4/,
  )
  await assertRefused(
    sound(Buffer.from(png).toString('base64'), 'wav'),
    'invalid_file_data',
    'input_audio.data',
    /expected audio content, but its bytes are image\/png/,
  )
})

test('200 for pictures as clients send them: the address alone, bare or wrapped base64, and any declared type', async () => {
  const base64 = Buffer.from(png).toString('base64')
  const wrapped = base64.replace(/.{76}/g, '$&\r\n')
  const addresses = [
    `data:;base64,${base64}`,
    `data:image;base64,${base64}`,
    `data:application/octet-stream;base64,${base64}`,
    `data:video/mp4;base64,${base64}`,
    `data:image/png;base64,${wrapped}`,
    `data:image/png;base64, ${base64}\n`,
    base64,
    wrapped,
  ]
  for (const url of addresses) {
    for (const image of [part('image_url', url), { type: 'image_url', image_url: url }])
      assert.deepEqual(await given([image]), [part('image_url', dataUrl('image/png', png))], url.slice(0, 50))
  }
  const tune = { type: 'audio_url', audio_url: `data:;base64,${sounds.mp3.toString('base64')}` }
  assert.deepEqual(await given([tune]), [part('audio_url', dataUrl('audio/mpeg', sounds.mp3))])
})

test('200 for a sound under the wrong format or none, or as a data URL: it is sent with the format of its bytes', async () => {
  for (const [format, bytes] of Object.entries(sounds)) {
    const base64 = bytes.toString('base64')
    const other = format === 'wav' ? 'mp3' : 'wav'
    for (const data of [base64, `data:;base64,${base64}`])
      assert.deepEqual(await given([sound(data, other)]), [sound(base64, format)], format)
  }
  const wav = sounds.wav.toString('base64')
  for (const format of [undefined, null, '', 'WAV', 'mpeg', 'x-wav', 'audio/wav', 'webm', 'pcm16'])
    assert.deepEqual(await given([sound(wav, format)]), [sound(wav, 'wav')], String(format))
})

test('200 for pictures in tool messages: they follow as a user message, behind all answers to the calls', async () => {
  const image = part('image_url', dataUrl('image/png', png))
  const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })
  const text = { type: 'text', text: 'A boat' }
  const messages = [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: null, tool_calls: [call('c1'), call('c2')] },
    { role: 'tool', tool_call_id: 'c1', content: [text, image] },
    { role: 'tool', tool_call_id: 'c2', content: [image] },
    { role: 'user', content: 'So?' },
  ]
  const { status, body } = await service.chat({ messages })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(service.asked().messages, [
    ...messages.slice(0, 2),
    { role: 'tool', tool_call_id: 'c1', content: [text] },
    { role: 'tool', tool_call_id: 'c2', content: '' },
    { role: 'user', content: [image, image, { type: 'text', text: 'So?' }] },
  ])
})

test('400 for an image over 50 megapixels by its header, and for a damaged one; 200 at 50', async () => {
  const image = (width: number, height: number) => part('image_url', dataUrl('image/png', pngHeader(width, height)))
  for (const [width, height] of [
    [60_000, 60_000],
    [10_100, 5000],
    [1, 65_500 * 1000],
  ] as const) {
    await assertRefused(image(width, height), 'invalid_image_url', 'image_url.url', /50 megapixels|damaged/)
  }
  assert.equal((await given([image(10_000, 5000)])).length, 1)
  const broken = part('image_url', dataUrl('image/png', png.subarray(0, 20)))
  await assertRefused(broken, 'invalid_image_url', 'image_url.url')
})

test('400 above the size of its kind, 200 at it, counted in decoded bytes', async () => {
  const padded = (bytes: Uint8Array, size: number) => Buffer.concat([bytes, Buffer.alloc(size - bytes.length)])
  const image = (size: number) => part('image_url', dataUrl('image/png', padded(png, size)))
  await assertRefused(image(20_000_001), 'invalid_image_url', 'image_url.url', /larger than 20000000 bytes/)
  assert.equal((await given([image(20_000_000)])).length, 1)
  const audio = (size: number) => sound(padded(sounds.wav, size).toString('base64'), 'wav')
  await assertRefused(audio(25_000_001), 'invalid_file_data', 'input_audio.data', /larger than 25000000 bytes/)
  assert.equal((await given([audio(25_000_000)])).length, 1)
})

test('400 for content that the model does not accept, whatever its form, before anything is read', async () => {
  const address = 'https://example.com/a'
  const cases = [
    ['blind', 'images', [part('image_url', address), part('image_url', 'data:nonsense')]],
    ['still', 'video', [part('video_url', address), part('video_url', 'data:nonsense')]],
    ['deaf', 'sound', [part('audio_url', address), sound('nonsense', 'wav')]],
  ] as const
  for (const [model, what, parts] of cases) {
    for (const each of parts) {
      const message = `The model '${model}' does not take ${what}. GET /v1/models lists what each model takes.`
      const { status, body } = await ask([{ type: 'text', text: 'See' }, each], model)
      const error = {
        message,
        type: 'invalid_request_error',
        param: 'messages[0].content[1].type',
        code: 'model_capability_mismatch',
      }
      assert.deepEqual([status, body], [400, { error }])
    }
  }
})

test('400 names the part at fault among many', async () => {
  const good = part('image_url', dataUrl('image/png', png))
  const messages = [
    { role: 'user', content: [good, good] },
    { role: 'user', content: [{ type: 'text', text: 'x' }, good, part('image_url', 'data:x')] },
  ]
  const { status, body } = await service.chat({ messages })
  assert.deepEqual([status, body.error.param], [400, 'messages[1].content[2].image_url.url'])
})

test('400 for more than 256 pieces of media in one request, 200 at 256', async () => {
  const tiny = part(
    'image_url',
    dataUrl('image/gif', Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64')),
  )
  const many = (count: number) => Array.from({ length: count }, () => tiny)
  assert.equal((await given(many(256))).length, 256)
  const { status, body } = await ask(many(257))
  assert.deepEqual([status, body.error.param], [400, 'messages[0].content[256].image_url.url'])
  assert.match(body.error.message, /at most 256/)
})
