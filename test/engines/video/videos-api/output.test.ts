import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import { videosApi } from '../../../../server/engines/video/videos-api/adapter.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import type { Fault } from '../../../support/upstream/engine-server/faults.ts'
import type { Render } from '../../../support/upstream/engine-server/renders.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { live, startVideosApi } from './open.ts'

const { server, open, request, closeEngines } = await startVideosApi()
const other = await startEngineServer()
after(() => Promise.all([server.close(), other.close()]))
afterEach(closeEngines)

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

test('an output that is not a video, is truncated, or is behind a broken redirect is a fault', async () => {
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

test('a clip whose URL does not give it is fetched from the path of its render, as OpenRouter needs it', async () => {
  const engine = open('openrouter', { output_origins: [other.url] })
  for (const status of [401, 403, 404, 410, 503]) {
    const ticket = await engine.start(request(), live())
    const before = other.requests.length
    other.script({ path: '/clip', fault: { kind: 'status', status } })
    const clip = await readAll(await engine.fetch(ticket, { url: `${other.url}/clip` }, live()))
    assert.equal(clip.toString('latin1', 4, 8), 'ftyp', String(status))
    assert.equal(other.requests.length, before + 1)
  }
  const ticket = await engine.start(request(), live())
  other.script({ path: '/clip', fault: { kind: 'status', status: 503 } })
  server.script({ path: /content/, fault: { kind: 'status', status: 404 } })
  await assert.rejects(engine.fetch(ticket, { url: `${other.url}/clip` }, live()), { kind: 'transient' })
})

test('a clip that its path does not give is taken from the view of its render', async () => {
  const engine = open('openai')
  await engine.start(request(), live())
  const [[id, render]] = server.renders as unknown as [[string, Render]]
  const data = `data:video/mp4;base64,${render.conduct.output.toString('base64')}`
  const views: Array<Record<string, unknown>> = [
    { metadata: { url: data } },
    { data: [{ b64_json: data.split(',')[1] }] },
    { input_reference: data, video: { encodedVideo: data.split(',')[1] } },
    { url: `${server.url}/v1/videos/${id}/content` },
  ]
  for (const extra of views) {
    server.conduct({ extra })
    const ticket = await engine.start(request(), live())
    assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
    server.script({ path: /content/, fault: { kind: 'status', status: 502, body: { error: { message: 'no' } } } })
    const clip = await readAll(await engine.fetch(ticket, {}, live()))
    assert.equal(clip.toString('latin1', 4, 8), 'ftyp', Object.keys(extra).join())
  }
  server.conduct({ extra: { input_reference: data } })
  const ticket = await engine.start(request(), live())
  server.script({ path: /content/, fault: { kind: 'status', status: 404 } })
  await assert.rejects(engine.fetch(ticket, {}, live()), { kind: 'permanent' }, 'an input is not the clip')
  server.conduct({ extra: {} })
})
