import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import { engineMistakes } from '../../server/engines/registry.ts'
import type { RenderInput, RenderRequest } from '../../server/engines/video/contract.ts'
import { type VideosApiOptions, videosApi } from '../../server/engines/video/videos-api/adapter.ts'
import { readAll } from '../../server/platform/outbound/exchange.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'
import { fieldsOf } from '../support/upstream/engine-server/videos.ts'
import { picture, requestFor } from './contract.ts'

const server = await startEngineServer()
const other = await startEngineServer()
const opened: Array<{ close?(): Promise<void> }> = []
after(() => Promise.all([server.close(), other.close()]))
afterEach(() => Promise.all(opened.splice(0).map((engine) => engine.close?.())))

function open(dialect: VideosApiOptions['dialect'], more: Partial<VideosApiOptions> = {}) {
  const engine = videosApi({ kind: 'videos-api', dialect, base_url: server.url, api_key: 'secret-key', ...more })
  opened.push(engine)
  return engine
}

const live = () => new AbortController().signal
const request = (more: Partial<RenderRequest> = {}, inputs: RenderInput[] = []): RenderRequest => ({
  ...requestFor(open('sglang'), 'H3', inputs),
  ...more,
})
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
  for (const id of ['', '..', '.', 7, 'x'.repeat(600)]) assert.equal((await fault(200, { id })).kind, 'transient')
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
  const faults = (['reset', 'lost_reply', 'cut', 'wrong_length', 'garbage', 'gzip_bomb', 'giant_line'] as const).map(
    (kind) => ({ kind }),
  )
  const replies = ['', '<html>', 'null', '[]', '{}', '{"status":5}'].map((body) => ({
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
  server.script({ method: 'GET', fault: { kind: 'drip' } })
  assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
})

/** Nobody else has any of the renders, by default. */
const since = (date: Date, others: readonly string[] = []) => ({
  since: date,
  taken: async (keys: readonly string[]) =>
    new Set(keys.filter((key) => others.some((id) => key.endsWith(`/videos/${id}`)))),
})
const lose = async (sent: RenderRequest, engine = open('openai')) => {
  server.script({ method: 'POST', fault: { kind: 'lost_reply' } })
  await assert.rejects(engine.start(sent, live()), { kind: 'transient', not_begun: false })
  return engine
}

test('a start whose answer was lost is found again by its prompt, and what other jobs have is left out', async () => {
  server.forget()
  const begun = since(new Date())
  const before = server.started()
  const mine = request({ prompt: 'unlike any other' })
  const engine = await lose(mine)
  await engine.start(request({ prompt: 'another job' }), live())
  const found = { id: `video_${before + 1}`, where: 'base' }
  assert.deepEqual(await engine.recover!(mine, begun), { found, certain: false })
  assert.equal((await engine.poll(found, live())).state, 'succeeded')
  assert.deepEqual(
    await engine.recover!(mine, begun),
    { found, certain: false },
    'the same attempt has the same render',
  )
  const other = { ...mine, attempt_id: 'att_another' }
  assert.equal(
    await engine.recover!(other, begun),
    'absent',
    'a render that has a ticket is not handed to another attempt',
  )

  const fresh = () => open('openai')
  assert.equal(await fresh().recover!(mine, since(begun.since, [found.id])), 'absent', 'another job has it')
  for (const not of [{ prompt: 'never sent' }, { seconds: 5 }, { model: 'H4' }])
    assert.equal(await fresh().recover!({ ...mine, ...not }, begun), 'absent')
  assert.equal(await fresh().recover!(mine, since(new Date(Date.now() + 60_000))), 'absent')
  await lose(mine)
  assert.equal(await fresh().recover!(mine, begun), 'several')
  const twin = { id: `video_${server.started()}`, where: 'base' }
  assert.deepEqual(await fresh().recover!(mine, since(begun.since, [found.id])), { found: twin, certain: false })
})

test('a list that shows seeds identifies the render of an attempt; one without prompts and seeds leaves it unknown', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request({ prompt: 'marked', seed: 99 }, [await picture('first_frame')])
  server.conduct({ extra: { seed: 98 } })
  await lose(mine)
  assert.equal(
    await open('openai').recover!(mine, begun),
    'absent',
    'the same prompt with another seed is another render',
  )
  server.conduct({ omit: ['prompt'], extra: { seed: 99 } })
  await lose(mine)
  assert.deepEqual(await open('openai').recover!(mine, begun), {
    found: { id: `video_${server.started()}`, where: 'base' },
    certain: true,
  })
  server.conduct({ extra: {} })
  await lose(request({ prompt: 'unmarked' }))
  assert.equal(await open('openai').recover!(request({ prompt: 'unmarked' }), begun), 'unknown')
  server.conduct({ omit: [] })
})

test('a render is found on any page of the list', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request({ prompt: 'the first of many' })
  await lose(mine)
  const id = `video_${server.started()}`
  const engine = open('openai')
  for (let i = 0; i < 230; i++) await engine.start(request({ prompt: `number ${i}` }), live())
  assert.deepEqual(await open('openai').recover!(mine, begun), { found: { id, where: 'base' }, certain: false })
})

test('an output elsewhere is fetched without the credential, and only from where that is allowed', async () => {
  const url = `${other.url}/v1/videos/video_1/content`
  const ticket = await open('openai').start(request(), live())
  await videosApi({ kind: 'videos-api', dialect: 'openai', base_url: other.url }).start(request(), live())
  await assert.rejects(open('openai').fetch(ticket, { url }, live()), { kind: 'permanent' })
  await assert.rejects(open('openai').fetch(ticket, { url: 'http://169.254.169.254/latest' }, live()), {
    kind: 'permanent',
  })
  const before = other.requests.length
  const engine = open('openai', { output_origins: [other.url] })
  const bytes = await readAll(await engine.fetch(ticket, { url }, live()))
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
  server.script({ path: /content/, fault: { kind: 'status', status: 302, headers: { location: url } } })
  assert.equal((await readAll(await engine.fetch(ticket, {}, live()))).length, bytes.length)
  assert.deepEqual(
    other.requests.slice(before).map(({ headers }) => headers.authorization),
    [undefined, undefined],
  )
  const { id } = ticket as { id: string }
  await readAll(await engine.fetch(ticket, { url: `${server.url}/v1/videos/${id}/content` }, live()))
  assert.equal(server.requests.at(-1)!.headers.authorization, 'Bearer secret-key')
})

test('an output that is no video, cut, or behind a second redirect is a fault', async () => {
  const engine = open('openai')
  const ticket = await engine.start(request(), live())
  const faults: Fault[] = [
    { kind: 'status', status: 200, body: '<html>', headers: { 'content-type': 'text/html' } },
    { kind: 'status', status: 404 },
    { kind: 'status', status: 302, headers: { location: '/v1/videos' } },
    { kind: 'status', status: 302, headers: { location: 'http://[' } },
    { kind: 'gzip_bomb' },
  ]
  for (const fault of faults) {
    server.script({ path: /content/, fault })
    await assert.rejects(engine.fetch(ticket, {}, live()), EngineError, JSON.stringify(fault))
  }
  for (const kind of ['cut', 'wrong_length'] as const) {
    server.script({ path: /content/, fault: { kind } })
    await assert.rejects(async () => readAll(await engine.fetch(ticket, {}, live())), kind)
  }
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
