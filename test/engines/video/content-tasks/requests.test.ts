import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import { engineMistakes } from '../../../../server/engines/registry.ts'
import type { AspectRatio, RenderInput } from '../../../../server/engines/video/contract.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import { DIALECTS, live, startContentTasks, type TasksDialect } from './open.ts'

const { server, open, request, closeEngines } = await startContentTasks()
after(() => server.close())
afterEach(closeEngines)

const PROMPT = 'A cat says <d>こんにちは、"世界"\r\n…\n✨</d> & \\n 100%'
const SIGNED = 'https://kinora.example/files/file_1?ttl=600'

async function media(role: RenderInput['role'], media_type: string, duration_seconds: number): Promise<RenderInput> {
  const input = await picture(role)
  const kind = media_type.startsWith('video') ? 'video' : 'audio'
  return { ...input, media_type, probe: { ...input.probe, kind, width: null, height: null, duration_seconds } }
}

async function dataUrlOf(input: RenderInput): Promise<string> {
  return `data:${input.media_type};base64,${(await readAll(await input.open())).toString('base64')}`
}

/** The JSON of the start of a render. */
async function sent(dialect: TasksDialect, more: Parameters<typeof request>[0], inputs: RenderInput[] = []) {
  await open(dialect, { input_transport: 'url', signed_url_ttl_seconds: 600 }).start(request(more, inputs), live())
  return server.requests.at(-1)!.json
}

test('text: one text item with the prompt byte for byte, and what each dialect adds', async () => {
  const body = { model: 'MiniMax-H3', duration: 8, ratio: '9:16', content: [{ type: 'text', text: PROMPT }] }
  const text = { prompt: PROMPT, seconds: 8, aspect_ratio: '9:16' } as const
  assert.deepEqual(await sent('minimax', text), { ...body, resolution: '768P' })
  assert.deepEqual(await sent('ark', text), {
    ...body,
    resolution: '720p',
    generate_audio: true,
    seed: 7,
    watermark: false,
  })
  const { method, path, headers } = server.requests.at(-1)!
  assert.deepEqual([method, path], ['POST', '/api/v3/contents/generations/tasks'])
  assert.equal(headers.authorization, 'Bearer secret-key')
})

test('frames: images with their roles, and no ratio', async () => {
  const frames = [await picture('last_frame'), await picture('first_frame')]
  const image = (role: string) => ({ type: 'image_url', image_url: { url: SIGNED }, role })
  const body = {
    model: 'MiniMax-H3',
    duration: 4,
    content: [{ type: 'text', text: PROMPT }, image('last_frame'), image('first_frame')],
  }
  assert.deepEqual(await sent('minimax', { prompt: PROMPT }, frames), { ...body, resolution: '768P' })
  assert.deepEqual(await sent('ark', { prompt: PROMPT }, frames), {
    ...body,
    resolution: '720p',
    generate_audio: true,
    seed: 7,
    watermark: false,
  })
})

test('references: images, clips and sound with their roles, as data URLs unless URLs are asked for', async () => {
  const inputs = [
    await picture('reference_image'),
    await media('reference_video', 'video/mp4', 5),
    await media('reference_audio', 'audio/mpeg', 5),
  ]
  const content = (urls: string[]) => [
    { type: 'text', text: PROMPT },
    { type: 'image_url', image_url: { url: urls[0] }, role: 'reference_image' },
    { type: 'video_url', video_url: { url: urls[1] }, role: 'reference_video' },
    { type: 'audio_url', audio_url: { url: urls[2] }, role: 'reference_audio' },
  ]
  for (const dialect of DIALECTS) {
    const signed = (await sent(dialect, { prompt: PROMPT, aspect_ratio: 'Auto' }, inputs)) as Record<string, unknown>
    assert.deepEqual([signed.content, signed.ratio], [content([SIGNED, SIGNED, SIGNED]), 'adaptive'])
    const engine = open(dialect)
    assert.equal(engine.capabilities('MiniMax-H3').media, 'data_url')
    await engine.start(request({ prompt: PROMPT }, inputs), live())
    const { json, headers, body } = server.requests.at(-1)!
    assert.deepEqual((json as typeof signed).content, content(await Promise.all(inputs.map(dataUrlOf))))
    assert.equal(Number(headers['content-length']), body.length)
  }
})

test('the ratio: 16:9 for text without one, adaptive for references, none for frames', async () => {
  const table: Array<[inputs: RenderInput[], asked: AspectRatio, sent: string | undefined]> = [
    [[], 'Auto', '16:9'],
    [[], '21:9', '21:9'],
    [[await picture('reference_image')], 'Auto', 'adaptive'],
    [[await picture('reference_image')], '3:4', '3:4'],
    [[await picture('first_frame')], 'Auto', undefined],
    [[await picture('last_frame')], '1:1', undefined],
  ]
  for (const dialect of DIALECTS)
    for (const [inputs, aspect_ratio, ratio] of table)
      assert.equal(((await sent(dialect, { aspect_ratio }, inputs)) as { ratio?: string }).ratio, ratio)
})

test('base URL and path prefix lead to the server of a reseller', async () => {
  const paths = async (dialect: TasksDialect, more: Parameters<typeof open>[1]) => {
    const engine = open(dialect, more)
    await engine.poll(await engine.start(request(), live()), live())
    return server.requests.slice(-2).map(({ path }) => path.replace(/video_\d+$/, 'id'))
  }
  const at = (prefix: string) => [`${prefix}/v2/video_generation`, `${prefix}/v2/query/video_generation/id`]
  assert.deepEqual(await paths('minimax', {}), at(''))
  assert.deepEqual(await paths('minimax', { path_prefix: '/hailuo' }), at('/hailuo'))
  assert.deepEqual(await paths('minimax', { base_url: `${server.url}/v3/minimax/` }), at('/v3/minimax'))
  const tasks = (prefix: string) => [`${prefix}/contents/generations/tasks`, `${prefix}/contents/generations/tasks/id`]
  assert.deepEqual(await paths('ark', {}), tasks('/api/v3'))
  assert.deepEqual(await paths('ark', { base_url: `${server.url}/api/v3` }), tasks('/api/v3'))
  assert.deepEqual(await paths('ark', { path_prefix: '' }), tasks(''))
})

test('media that the probe shows to be impossible is refused before the call', async () => {
  const image = await picture('reference_image')
  const sized = (width: number, height: number) => ({ ...image, probe: { ...image.probe, width, height } })
  const clips = [await media('reference_video', 'video/mp4', 9), await media('reference_video', 'video/mp4', 7)]
  const exact = [await media('reference_video', 'video/mp4', 8), await media('reference_video', 'video/mp4', 7.04)]
  const before = server.requests.length
  for (const inputs of [[sized(255, 400)], [sized(400, 1100)], [sized(1100, 400)], clips])
    await assert.rejects(open('minimax').start(request({}, inputs), live()), {
      kind: 'rejected',
      subject: 'reference_media',
      not_begun: true,
    })
  await assert.rejects(open('ark').start(request({}, clips), live()), { subject: 'reference_media' })
  assert.equal(server.requests.length, before)
  for (const inputs of [[sized(256, 256)], [sized(400, 1000)], exact])
    await open('minimax').start(request({}, inputs), live())
  assert.equal(server.requests.length, before + 3)
})

test('what Seedance does not take of pictures, clips and sounds is refused before the call', async () => {
  const image = await picture('reference_image')
  const clip = await media('reference_video', 'video/mp4', 5)
  const sound = await media('reference_audio', 'audio/mpeg', 5)
  const sized = (input: RenderInput, width: number, height: number) => ({
    ...input,
    probe: { ...input.probe, width, height },
  })
  const typed = (input: RenderInput, media_type: string) => ({ ...input, media_type })
  const long = (input: RenderInput, duration_seconds: number) => ({
    ...input,
    probe: { ...input.probe, duration_seconds },
  })
  const model = 'dreamina-seedance-2-0-260128'
  const refused = [
    [sized(image, 299, 400)],
    [sized(image, 8160, 6144)],
    [sized(image, 300, 900)],
    [{ ...image, size_bytes: 31 * 1024 * 1024 }],
    [typed(clip, 'video/webm')],
    [long(clip, 1)],
    [sized(clip, 1920, 1080)],
    [image, typed(sound, 'audio/mp4')],
    [image, long(sound, 9), long(sound, 9)],
    [image, { ...sound, size_bytes: 16 * 1024 * 1024 }],
    [sound],
  ]
  const before = server.requests.length
  for (const inputs of refused)
    await assert.rejects(open('ark').start(request({ model }, inputs), live()), {
      kind: 'rejected',
      subject: 'reference_media',
      not_begun: true,
    })
  assert.equal(server.requests.length, before)
  for (const inputs of [
    [sized(image, 300, 400), sized(clip, 1280, 720), sound],
    [long(sound, 15.04), image],
  ])
    await open('ark').start(request({ model }, inputs), live())
  assert.equal(server.requests.length, before + 2)
  const v25 = request({ model: 'dreamina-seedance-2-5-260628' }, [long(sound, 14), long(sound, 14)])
  await open('ark').start(v25, live())
})

test('members that a model does not take are left out, and a seed that was not sent is not looked for', async () => {
  const omit = ['generate_audio', 'seed', 'watermark', 'ratio', 'resolution'] as const
  const engine = open('ark', { omit: [...omit] })
  const sentRequest = request({ seed: 41 })
  await engine.start(sentRequest, live())
  const { model, seconds, prompt } = sentRequest
  assert.deepEqual(server.requests.at(-1)!.json, {
    model,
    duration: seconds,
    content: [{ type: 'text', text: prompt }],
  })
  server.forget()
  const since = new Date()
  server.script({ method: 'POST', fault: { kind: 'lost_reply' } })
  const lost = request({ seed: 42 })
  await assert.rejects(engine.start(lost, live()))
  const found = await engine.recover!(lost, { since, taken: async () => new Set() })
  assert.ok(typeof found === 'object' && !found.certain)
})

test('capabilities: 12 files, H3-Max from 5 seconds on and with references only where the entry names them', () => {
  const h3 = open('minimax').capabilities('MiniMax-H3')
  assert.deepEqual([h3.seconds, h3.references_max.files, h3.cancel], [[4, 15], 12, 'queued'])
  const max = open('minimax').capabilities('MiniMax-H3-Max')
  assert.deepEqual([max.seconds, max.modes.has('references'), max.modes.has('both_frames')], [[5, 15], false, true])
  const named = open('minimax', { inputs: ['first_frame', 'reference_images'] }).capabilities('MiniMax-H3-Max')
  assert.deepEqual([[...named.modes], named.references_max.files], [['text', 'first_frame', 'references'], 8])
})

test('contradicting options are mistakes with their place', () => {
  const base_url = 'https://api.minimax.io'
  const path = (more: object) =>
    engineMistakes('video', { kind: 'content-tasks', dialect: 'minimax', base_url, ...more }).map((each) => each.path)
  assert.deepEqual(path({}), [])
  assert.deepEqual(path({ dialect: 'ark', resolution: '1080p', model: 'ep-1' }), [])
  assert.deepEqual(path({ resolution: '1080p' }), ['resolution'])
  assert.deepEqual(path({ omit: ['seed'] }), [])
  assert.deepEqual(path({ omit: ['model'] }), ['omit.0'])
  assert.deepEqual(path({ model: 'MiniMax-H3-Max', seconds: [4, 8] }), ['seconds'])
  assert.deepEqual(path({ seconds: [9, 4] }), ['seconds'])
  for (const call of ['/v2', '/v2/video_generation', '/api/v3/contents/generations/tasks'])
    assert.deepEqual(path({ base_url: base_url + call }), ['base_url'])
  assert.deepEqual(path({ base_url: `${base_url}/hailuo`, path_prefix: '/hailuo' }), ['path_prefix'])
})
