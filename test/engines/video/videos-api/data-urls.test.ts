import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { picture, requestFor } from '../../../../server/engines/check/video/request.ts'
import { engineMistakes } from '../../../../server/engines/registry.ts'
import type { RenderInput } from '../../../../server/engines/video/contract.ts'
import { type VideosApiOptions, videosApi } from '../../../../server/engines/video/videos-api/adapter.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { videoEngineContract } from '../contract.ts'

const server = await startEngineServer()
after(() => server.close())

const optionsOf = (dialect: 'sglang' | 'openrouter'): VideosApiOptions => ({
  kind: 'videos-api',
  dialect,
  base_url: server.url,
  input_transport: 'data',
  ...(dialect === 'sglang' ? { references_base_url: `${server.url}/refs` } : {}),
})

for (const dialect of ['sglang', 'openrouter'] as const) {
  videoEngineContract(`videos-api ${dialect} with data URLs`, async () => {
    server.conduct({ polls: 1 })
    const engine = videosApi(optionsOf(dialect))
    return { engine, model: 'MiniMax-H3', close: async () => engine.close?.() }
  })
}

/** A file of `bytes` that comes in pieces of awkward lengths, and of which there is no URL. */
async function file(role: RenderInput['role'], media_type: string, bytes: Buffer): Promise<RenderInput> {
  const cuts = [0, 1, 5, 11, bytes.length]
  const pieces = cuts.slice(1).map((cut, i) => new Uint8Array(bytes.subarray(cuts[i]!, cut)))
  return {
    ...(await picture(role)),
    media_type,
    size_bytes: bytes.length,
    open: async () => ReadableStream.from(pieces),
    signedUrl: async () => assert.fail('no URL is asked for'),
  }
}

const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, i) => (i * 7) % 251))
const PROMPT = 'A cat says <d>"世界"\n✨</d> & \\n 100%'

test('sglang with input_transport: data is given the bytes in its conditions, and the rest of the body is as usual', async () => {
  const engine = videosApi(optionsOf('sglang'))
  assert.equal(engine.capabilities('H3').media, 'data_url')
  const contents = [bytes(20), bytes(21), bytes(22)]
  const inputs = await Promise.all([
    file('reference_image', 'image/png', contents[0]!),
    file('reference_video', 'video/mp4', contents[1]!),
    file('reference_audio', 'audio/wav', contents[2]!),
  ])
  await engine.start({ ...requestFor(engine, 'H3', inputs), prompt: PROMPT }, new AbortController().signal)
  const sent = server.requests.at(-1)!
  const { prompt, conditions } = sent.json as { prompt: string; conditions: Array<{ uri: string }> }
  assert.equal(prompt, PROMPT)
  const types = ['image/png', 'video/mp4', 'audio/wav']
  assert.deepEqual(
    conditions.map(({ uri }) => uri),
    contents.map((content, i) => `data:${types[i]};base64,${content.toString('base64')}`),
  )
  assert.equal(Number(sent.headers['content-length']), sent.body.length)
  assert.equal(sent.headers['content-type'], 'application/json')
  await engine.close?.()
})

test('openrouter with input_transport: data is given frames and references as data URLs', async () => {
  const engine = videosApi(optionsOf('openrouter'))
  const start = async (input: RenderInput) => {
    await engine.start(requestFor(engine, 'H3', [input]), new AbortController().signal)
    return server.requests.at(-1)!.json as Record<string, unknown>
  }
  const frames = await start(await file('first_frame', 'image/png', bytes(30)))
  const url = `data:image/png;base64,${bytes(30).toString('base64')}`
  assert.deepEqual(frames.frame_images, [{ type: 'image_url', image_url: { url }, frame_type: 'first_frame' }])
  const references = await start(await file('reference_image', 'image/png', bytes(30)))
  assert.deepEqual(references.input_references, [{ type: 'image_url', image_url: { url } }])
  await engine.close?.()
})

test('input_transport is refused for dialects that are always sent bytes, and inputs: data points to it', () => {
  const entry = (dialect: string, more: object) => ({
    kind: 'videos-api',
    dialect,
    base_url: 'http://h3:30000',
    ...more,
  })
  for (const dialect of ['sglang', 'openrouter'])
    assert.deepEqual(engineMistakes('video', entry(dialect, { input_transport: 'data', inputs: ['first_frame'] })), [])
  for (const dialect of ['openai', 'vllm-omni'])
    assert.deepEqual(engineMistakes('video', entry(dialect, { input_transport: 'data' })), [
      { path: 'input_transport', message: `The dialect ${dialect} is always sent the bytes.` },
    ])
  const [mistake] = engineMistakes('video', entry('sglang', { inputs: 'data' }))
  assert.match(mistake!.message, /input_transport: url or data/)
  const [unknown] = engineMistakes('video', entry('sglang', { input_transport: 'bytes' }))
  assert.match(unknown!.message, /url, data/)
})
