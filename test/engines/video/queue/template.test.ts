import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import { engineMistakes } from '../../../../server/engines/registry.ts'
import { findVideoUrl } from '../../../../server/engines/video/reply/clip-url.ts'
import { live, startQueue } from './open.ts'

const { server, open, request, closeEngines } = await startQueue()
after(() => server.close())
afterEach(closeEngines)

const TEXT = { prompt: '{{prompt}}', seconds: '{{seconds}}', ratio: '{{aspect_ratio}}' }
const mistakes = (more: object) =>
  engineMistakes('video', { kind: 'queue', dialect: 'fal', input: TEXT, ...more }).map(({ path, message }) => [
    path,
    message,
  ])
const paths = (more: object) => mistakes(more).map(([path]) => path)

test('what a model takes follows from the placeholders, narrowed by the options', () => {
  const capabilities = (more: Parameters<typeof open>[1]) => open('fal', more).capabilities('m')
  const all = capabilities({})
  assert.deepEqual([...all.modes], ['text', 'first_frame', 'last_frame', 'both_frames', 'references'])
  assert.deepEqual([all.media, all.cancel, all.idempotency], ['data_url', 'queued', 'none'])
  assert.equal(open('replicate', { input_transport: 'url' }).capabilities('m').media, 'signed_url')
  assert.equal(open('replicate').capabilities('m').cancel, 'any')
  assert.deepEqual([...capabilities({ input: TEXT, by_mode: {} }).modes], ['text'])
  const separate = capabilities({
    input: TEXT,
    by_mode: {
      first_frame: { input: { ...TEXT, a: '{{first_frame}}' } },
      last_frame: { input: { ...TEXT, b: '{{last_frame}}' } },
    },
  })
  assert.deepEqual([...separate.modes], ['text', 'first_frame', 'last_frame'])
  const few = capabilities({
    references_max: { images: 3 },
    inputs: ['reference_images'],
    seconds: [5, 10],
    ratios: ['16:9'],
  })
  assert.deepEqual(few.references_max, { images: 3, videos: 0, audio: 0, files: 3 })
  assert.deepEqual([few.seconds, [...few.aspect_ratios], few.auto_aspect_ratio], [[5, 10], ['16:9'], false])
})

test('a file that no placeholder takes is rejected, not dropped', async () => {
  const more = { by_mode: { references: { input: { ...TEXT, images: '{{reference_images}}' } } } }
  const inputs = [await picture('reference_image'), await picture('first_frame')]
  await assert.rejects(open('fal', more).start(request('fal', {}, inputs), live()), { kind: 'rejected' })
})

test('mistakes of a template are reported with their path', () => {
  assert.deepEqual(mistakes({}), [])
  assert.deepEqual(paths({ input: { ...TEXT, a: [{ b: '{{first_farme}}' }] } }), ['input.a.0.b'])
  assert.deepEqual(paths({ input: { a: '{{seconds}} {{aspect_ratio}}' } }), ['input'])
  assert.deepEqual(paths({ input: { a: '{{prompt}}' } }), ['input', 'input'])
  assert.deepEqual(mistakes({ input: { a: '{{prompt}}' }, seconds: [5, 5], ratios: ['16:9'] }), [])
  assert.deepEqual(mistakes({ by_mode: { first_frame: { model: 'a/b' } } }), [
    ['by_mode.first_frame', 'Its input needs {{first_frame}}.'],
  ])
  assert.deepEqual(paths({ by_mode: { references: { input: { a: '{{prompt}} {{seconds}}' } } } }), [
    'by_mode.references.input',
    'by_mode.references',
  ])
  assert.deepEqual(mistakes({ inputs: ['last_frame'] }), [['inputs.0', 'The template cannot carry it.']])
  assert.deepEqual(paths({ cancel_after_seconds: 60 }), ['cancel_after_seconds'])
  assert.deepEqual(paths({ model: '../admin' }), [])
  assert.deepEqual(paths({ model: 'a b' }), ['model'])
  assert.deepEqual(paths({ by_mode: { text: {} } }), ['by_mode.text'])
})

test('the finished clip is found in a result of any shape', () => {
  const clip = 'https://a.example/x.mp4?sig=1'
  for (const result of [clip, [clip], { video: { url: clip } }, { images: ['https://a.example/x.png'], out: [clip] }])
    assert.equal(findVideoUrl(result), clip)
  assert.equal(
    findVideoUrl({ thumbnail: { url: 'https://a.example/t' }, video: { url: 'https://a.example/x' } }),
    'https://a.example/x',
  )
  assert.equal(findVideoUrl({ cover: 'https://a.example/c.jpg', file: 'https://a.example/f' }), 'https://a.example/f')
  for (const none of [null, 'done', {}, { image: { url: 'https://a.example/f' } }, ['ftp://a/x.mp4']])
    assert.equal(findVideoUrl(none), null)
})
