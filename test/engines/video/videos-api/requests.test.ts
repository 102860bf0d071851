import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import { engineMistakes } from '../../../../server/engines/registry.ts'
import type { RenderInput } from '../../../../server/engines/video/contract.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import { fieldsOf } from '../../../support/upstream/engine-server/renders.ts'
import { live, since, startVideosApi } from './open.ts'

const { server, open, request, closeEngines } = await startVideosApi()
after(() => server.close())
afterEach(closeEngines)
const clip = async (role: RenderInput['role'], media_type: string, bytes: Buffer): Promise<RenderInput> => ({
  ...(await picture(role)),
  media_type,
  size_bytes: bytes.length,
  open: async () => ReadableStream.from([new Uint8Array(bytes.subarray(0, 5)), new Uint8Array(bytes.subarray(5))]),
})

const PROMPT = 'A cat says <d>こんにちは、"世界"\r\n…\n✨</d> & \\n 100%'

test('openai: multipart with seconds as text, the picture as a file, and the prompt byte for byte', async () => {
  const frame = await picture('first_frame')
  await open('openai').start(request({ prompt: PROMPT, seconds: 8 }, [frame]), live())
  const sent = server.requests.at(-1)!
  const { model, prompt, seconds, size, input_reference } = fieldsOf(sent)
  assert.deepEqual([sent.method, sent.path, sent.headers.authorization], ['POST', '/v1/videos', 'Bearer secret-key'])
  assert.deepEqual(
    { model, seconds, size, input_reference },
    { model: 'H3', seconds: '8', size: '1366x768', input_reference: `${frame.size_bytes} bytes` },
  )
  assert.equal(prompt, PROMPT)
  assert.ok(sent.body.includes(await readAll(await frame.open())))
  assert.equal(Number(sent.headers['content-length']), sent.body.length)
})

test('sglang: JSON with conditions by signed URL; frames and references at their own addresses', async () => {
  const engine = open('sglang', { references_base_url: `${server.url}/refs/v1`, signed_url_ttl_seconds: 600 })
  await engine.start(
    request({ prompt: PROMPT, aspect_ratio: 'Auto' }, [await picture('last_frame'), await picture('first_frame')]),
    live(),
  )
  const frames = server.requests.at(-1)!
  assert.equal(frames.path, '/v1/videos')
  const uri = 'https://kinora.example/files/file_1?ttl=600'
  assert.deepEqual(frames.json, {
    model: 'H3',
    prompt: PROMPT,
    size: '1344x768',
    seconds: 4,
    task: 'fl2va',
    conditions: [
      { type: 'image', role: 'keyframe', frame_index: -1, uri },
      { type: 'image', role: 'keyframe', frame_index: 0, uri },
    ],
    target: { short_edge: 768, aspect_ratio: 'auto', duration_seconds: 4 },
    seed: 7,
  })
  const video = await clip('reference_video', 'video/mp4', Buffer.from('0123456789'))
  const loud = { ...video, probe: { ...video.probe, audio_codec: 'aac' } }
  const audio = await clip('reference_audio', 'audio/mpeg', Buffer.from('0123456789'))
  await engine.start(
    request({ aspect_ratio: 'Auto', width: 768, height: 1100 }, [await picture('reference_image'), video, loud, audio]),
    live(),
  )
  const references = server.requests.at(-1)!
  assert.equal(references.path, '/refs/v1/videos')
  const { task, conditions, target } = references.json as {
    task: string
    conditions: Array<{ type: string }>
    target: object
  }
  assert.equal(task, 'ref2va')
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ['image', 'video', 'video_audio', 'audio'],
  )
  assert.deepEqual(target, { short_edge: 768, aspect_ratio: '3:4', duration_seconds: 4 })
})

test('vllm-omni: pictures as files in the order of frame_indices, clip and sound as data URLs', async () => {
  const engine = open('vllm-omni')
  await engine.start(request({ prompt: PROMPT }, [await picture('last_frame'), await picture('first_frame')]), live())
  const frames = fieldsOf(server.requests.at(-1)!)
  assert.equal(frames.prompt, PROMPT)
  assert.deepEqual(
    [frames.width, frames.height, frames.short_edge, frames.fps, frames.aspect_ratio],
    ['1344', '768', '768', '24', '16:9'],
  )
  assert.deepEqual(JSON.parse(frames.extra_params!), { task: 'fl2va', duration: 4, frame_indices: [0, -1] })
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251))
  const media = [await clip('reference_video', 'video/mp4', bytes), await clip('reference_audio', 'audio/wav', bytes)]
  await engine.start(request({}, media), live())
  const { video_reference, audio_reference } = fieldsOf(server.requests.at(-1)!)
  assert.equal(video_reference, `data:video/mp4;base64,${bytes.toString('base64')}`)
  assert.equal(audio_reference, `data:audio/wav;base64,${bytes.toString('base64')}`)
  await assert.rejects(engine.start(request({}, [...media, media[0]!]), live()), { kind: 'rejected' })
})

test('openrouter: JSON with frames and references by signed URL, and no list to look in', async () => {
  const engine = open('openrouter', { base_url: `${server.url}/api/v1` })
  const sent = request({ prompt: PROMPT, aspect_ratio: '1:1' }, [await picture('first_frame')])
  await engine.start(sent, live())
  const { path, json } = server.requests.at(-1)!
  const { prompt, duration, aspect_ratio, frame_images } = json as Record<string, unknown>
  const uri = 'https://kinora.example/files/file_1?ttl=900'
  assert.deepEqual([path, prompt, duration, aspect_ratio], ['/api/v1/videos', PROMPT, 4, '1:1'])
  assert.deepEqual(frame_images, [{ type: 'image_url', image_url: { url: uri }, frame_type: 'first_frame' }])
  const before = server.requests.length
  assert.equal(await engine.recover!({ ...sent, attempt_id: 'att_another' }, since(new Date(0))), 'unknown')
  assert.equal(server.requests.length, before)
  const ticket = await engine.start(request(), live())
  server.conduct({ extra: { unsigned_urls: [`${server.url}/v1/videos/video_1/content`] } })
  const done = await engine.poll(await engine.start(request(), live()), live())
  assert.ok(done.state === 'succeeded')
  assert.equal((await readAll(await engine.fetch(ticket, done.output, live()))).toString('latin1', 4, 8), 'ftyp')
  server.conduct({ extra: {} })
})

test('a start is refused by the kind of its fault', async () => {
  const engine = open('openai')
  const fault = async (status: number, body: object = {}, headers = {}) => {
    server.script({ method: 'POST', fault: { kind: 'status', status, body, headers } })
    const error = await engine.start(request({ prompt: 'leak-marker-prompt' }), live()).catch((error: unknown) => error)
    assert.ok(error instanceof EngineError, `${status}`)
    assert.doesNotMatch(`${error.message}${JSON.stringify(error)}${error.cause}`, /leak-marker|secret-key|127\.0\.0\.1/)
    return error
  }
  for (const status of [400, 409, 413, 415, 422])
    assert.equal((await fault(status, { error: { message: 'leak-marker-prompt' } })).kind, 'rejected')
  for (const status of [401, 402, 403, 404, 302]) assert.equal((await fault(status)).kind, 'permanent')
  for (const status of [408, 425, 429, 500, 502, 503, 504]) assert.equal((await fault(status)).kind, 'transient')
  for (const code of [
    'moderation_blocked',
    'content_policy_violation',
    'InputImageSensitiveContentDetected',
    1026,
    1027,
  ])
    assert.equal((await fault(400, { error: { code, message: 'leak-marker' } })).kind, 'moderation')
  assert.equal((await fault(429, {}, { 'retry-after': '17' })).retry_after_seconds, 17)
  const date = { date: 'Fri, 20 Nov 2026 12:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }
  assert.equal((await fault(503, {}, date)).retry_after_seconds, 30)
  assert.equal((await fault(400, { error: { code: 'invalid_image' } })).subject, 'reference_media')
  assert.equal((await fault(422, { detail: [{ loc: ['body', 'input_reference'] }] })).subject, 'reference_media')
  assert.equal((await fault(400, { error: { code: 'invalid_size', param: 'size' } })).subject, undefined)
  assert.equal((await fault(400, { error: { code: 'leak-marker with spaces' } })).engine_code, undefined)
  assert.equal((await fault(200, {})).kind, 'transient')
  for (const id of ['', '..', '.', 'a\u0000b', 'x'.repeat(2001)])
    assert.equal((await fault(200, { id })).kind, 'transient')
})

test('a poll distinguishes running, succeeded, failed and lost', async () => {
  const engine = open('openai')
  const poll = async (conduct: Parameters<typeof server.conduct>[0]) => {
    server.conduct({ polls: 0, status: 'completed', error: null, extra: {}, ...conduct })
    return engine.poll(await engine.start(request(), live()), live())
  }
  assert.deepEqual(await poll({ polls: 1 }), { state: 'running', progress: 10 })
  assert.equal((await poll({ status: 'a_new_status' })).state, 'running')
  assert.equal((await poll({ status: 'succeeded' })).state, 'succeeded')
  for (const status of ['cancelled', 'canceled', 'expired']) await assertFailed(poll({ status }), 'transient')
  await assertFailed(poll({ status: 'failed', error: { code: 'moderation_blocked', message: 'no' } }), 'moderation')
  await assertFailed(poll({ status: 'failed', error: { code: 'server_error' } }), 'transient')
  await assertFailed(poll({ status: 'failed', error: { message: 'CUDA error' } }), 'rejected')
  await assertFailed(poll({ status: 'failed', error: 'it broke' }), 'rejected')
  const ticket = await engine.start(request(), live())
  server.forget()
  assert.deepEqual(await engine.poll(ticket, live()), { state: 'lost' })
  server.conduct({ status: 'completed', error: null })
})

test('an unreadable answer to a poll changes nothing: the render goes on', async () => {
  const engine = open('openai')
  const ticket = await engine.start(request(), live())
  const faults = (['reset', 'lost_reply', 'cut', 'wrong_length', 'garbage', 'gzip_bomb'] as const).map((kind) => ({
    kind,
  }))
  const replies = ['', '<html>', 'null', '[]', '{}'].map((body) => ({
    kind: 'status' as const,
    status: 200,
    body,
  }))
  const statuses = [301, 400, 401, 500, 503].map((status) => ({ kind: 'status' as const, status }))
  for (const fault of [...faults, ...replies, ...statuses]) {
    server.script({ method: 'GET', times: fault.kind === 'reset' ? 2 : 1, fault })
    await assert.rejects(engine.poll(ticket, live()), EngineError, JSON.stringify(fault))
    server.unscript()
  }
  server.script({ method: 'GET', fault: { kind: 'stall' } })
  const stop = new AbortController()
  const stalled = engine.poll(ticket, stop.signal)
  stop.abort()
  await assert.rejects(stalled, { kind: 'transient', engine_code: 'aborted' })
  server.unscript()
  server.script({ method: 'GET', fault: { kind: 'giant_line' } })
  assert.equal((await engine.poll(ticket, live())).state, 'succeeded', 'a view may hold a clip')
  server.script({ method: 'GET', fault: { kind: 'drip' } })
  assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
})

test('cancel asks the engine where it can stop, and asks nothing where it cannot', async () => {
  const engine = open('vllm-omni')
  const ticket = await engine.start(request(), live())
  assert.equal(await engine.cancel(ticket), true)
  await assertFailed(engine.poll(ticket, live()), 'transient')
  const deaf = open('sglang')
  const running = await deaf.start(request(), live())
  const before = server.requests.length
  assert.equal(await deaf.cancel(running), false)
  assert.equal(server.requests.length, before)
})

test('a server that cannot stop a render is not asked to, and clients are told', async () => {
  const engine = open('openai', { cancel: 'none' })
  assert.equal(engine.capabilities('H3').cancel, 'none')
  const ticket = await engine.start(request(), live())
  const before = server.requests.length
  assert.equal(await engine.cancel(ticket), false)
  assert.equal(server.requests.length, before)
})

test('capabilities follow the dialect, the addresses and the inputs of the model', () => {
  assert.deepEqual([...open('openai').capabilities('H3').modes], ['text', 'first_frame'])
  assert.ok(!open('sglang').capabilities('H3').modes.has('references'))
  assert.ok(open('sglang', { references_base_url: server.url }).capabilities('H3').modes.has('references'))
  const narrow = open('vllm-omni', {
    inputs: ['last_frame', 'reference_videos'],
    seconds: [5, 10],
    ratios: ['1:1'],
  }).capabilities('H3')
  assert.deepEqual([...narrow.modes], ['text', 'last_frame', 'references'])
  assert.deepEqual(narrow.references_max, { images: 0, videos: 1, audio: 0, files: 1 })
  assert.deepEqual([narrow.seconds, [...narrow.aspect_ratios], narrow.auto_aspect_ratio], [[5, 10], ['1:1'], false])
})

test('contradicting options are mistakes with their place', () => {
  const entry = { kind: 'videos-api', dialect: 'openai', base_url: 'http://h3:30000' }
  const path = (more: object) => engineMistakes('video', { ...entry, ...more }).map((mistake) => mistake.path)
  assert.deepEqual(path({ sizes: { '16:9': '1280x720' } }), [])
  assert.deepEqual(path({ inputs: ['last_frame'] }), ['inputs.0'])
  assert.deepEqual(path({ dialect: 'sglang', inputs: ['first_frame', 'reference_images'] }), ['inputs.1'])
  assert.deepEqual(path({ seconds: [9, 4] }), ['seconds'])
  assert.deepEqual(path({ base_url: 'http://user:pass@h3' }), ['base_url'])
  assert.deepEqual(path({ base_url: 'h3:30000' }), ['base_url'])
  assert.deepEqual(path({ sizes: { '2:1': '1x1' }, dialect: 'sora' }).toSorted(), ['dialect', 'sizes.2:1'])
  assert.deepEqual(path({ references_base_url: 'http://h3:1' }), ['references_base_url'])
})

async function assertFailed(polled: Promise<unknown>, kind: string): Promise<void> {
  const state = (await polled) as { state: string; error?: EngineError }
  assert.equal(state.state, 'failed')
  assert.equal(state.error?.kind, kind)
}
