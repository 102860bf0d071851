import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import type { EngineError } from '../../../../server/engines/engine-error.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import { beside, instead } from '../../../support/upstream/engine-server/misbehavior.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { live, since, startQueue } from './open.ts'

const { server, open, request, closeEngines } = await startQueue()
const other = await startEngineServer()
after(() => Promise.all([server.close(), other.close()]))
afterEach(closeEngines)

const RESULT = /\/requests\/[^/]+$/

test('fal is sent the filled template at the path of the model, with its own kind of credential', async () => {
  const engine = open('fal')
  await engine.start(request('fal', { prompt: 'A cat <d>"世界"</d>', seconds: 5 }), live())
  const sent = server.requests.at(-1)!
  assert.equal(sent.path, '/fal/minimax/h3-max/text-to-video')
  assert.equal(sent.headers.authorization, 'Key secret-key')
  assert.deepEqual(sent.json, { prompt: 'A cat <d>"世界"</d>', duration: 5, aspect_ratio: '16:9', seed: 7 })
})

test('each mode has its model and input; files go as data URLs, or as signed URLs where that is configured', async () => {
  const frame = await picture('first_frame')
  const bytes = await readAll(await frame.open())
  const data = `data:image/png;base64,${bytes.toString('base64')}`
  await open('fal').start(request('fal', { aspect_ratio: 'Auto' }, [frame]), live())
  const { image_url, aspect_ratio, end_image_url } = server.requests.at(-1)!.json as Record<string, unknown>
  assert.deepEqual([image_url, aspect_ratio, end_image_url], [data, undefined, undefined])
  const images = [await picture('reference_image'), await picture('reference_image')]
  await open('fal', { input_transport: 'url', signed_url_ttl_seconds: 60 }).start(request('fal', {}, images), live())
  const { path, json } = server.requests.at(-1)!
  assert.equal(path, '/fal/minimax/h3-max/reference-to-video')
  const url = 'https://kinora.example/files/file_1?ttl=60'
  const { duration, ...rest } = json as Record<string, unknown>
  assert.equal(duration, '4')
  assert.deepEqual(rest, { prompt: request('fal').prompt, aspect_ratio: '16:9', image_urls: [url, url] })
})

test('URLs of a reply that lead out of the configured address are never asked: a permanent fault', async () => {
  const foreign = `${other.url}/fal/minimax/h3-max/requests/video_1`
  for (const name of ['status_url', 'response_url', 'cancel_url']) {
    server.conduct({ extra: { [name]: foreign } })
    await assert.rejects(open('fal').start(request('fal'), live()), { kind: 'permanent', not_begun: false })
  }
  server.conduct({ extra: { status_url: `${server.url}/elsewhere` } })
  await assert.rejects(open('fal').start(request('fal'), live()), { kind: 'permanent', not_begun: false })
  server.conduct({ extra: {} })
  const ticket = (await open('fal').start(request('fal'), live())) as Record<string, string>
  await assert.rejects(open('fal').poll({ ...ticket, status_url: foreign }, live()), { kind: 'permanent' })
  assert.equal(other.requests.length, 0)
})

test('a completed request may still be an error of the model, of which only the kind is kept', async () => {
  const detail = (type: string, ...loc: string[]) => ({ detail: [{ loc: ['body', ...loc], msg: 'leak-marker', type }] })
  const cases = [
    ['422', detail('content_policy_violation', 'prompt'), 'moderation', undefined],
    ['400', { detail: 'The prompt was flagged by our content policy. leak-marker' }, 'moderation', undefined],
    ['422', detail('image_too_small', 'image_url'), 'rejected', 'reference_media'],
    ['422', detail('value_error', 'end_image_url'), 'rejected', 'reference_media'],
    ['422', detail('value_error', 'prompt'), 'rejected', undefined],
    ['500', detail('internal_server_error'), 'transient', undefined],
    ['499', { detail: 'Request was cancelled' }, 'transient', undefined],
  ] as const
  for (const [status, error, kind, subject] of cases) {
    server.conduct({ status, error })
    const engine = open('fal')
    const ticket = await engine.start(request('fal'), live())
    await engine.poll(ticket, live())
    const state = await engine.poll(ticket, live())
    assert.ok(state.state === 'failed', `${status}: ${state.state}`)
    assert.deepEqual([state.error.kind, state.error.subject], [kind, subject], JSON.stringify(error))
    assert.doesNotMatch(`${state.error.message}${JSON.stringify(state.error)}`, /leak-marker/)
  }
})

test('a result that cannot be had now leaves the render finished: the fetch asks for it again; one without a video is a failure', async () => {
  const engine = open('fal')
  const ticket = await engine.start(request('fal'), live())
  await engine.poll(ticket, live())
  const answer = (status: number, body: string | object = '', times = 1) =>
    server.script({ method: 'GET', path: RESULT, times, fault: { kind: 'status', status, body } })
  const kindOf = async (status: number, body?: string | object) => {
    answer(status, body, 2)
    assert.deepEqual(await engine.poll(ticket, live()), { state: 'succeeded', output: {} }, `${status} ${body}`)
    return engine.fetch(ticket, {}, live()).then(
      () => null,
      (error: EngineError) => error.kind,
    )
  }
  for (const status of [429, 500, 502, 503]) assert.equal(await kindOf(status), 'transient', String(status))
  for (const body of ['<html>', { detail: 'bad gateway' }]) assert.equal(await kindOf(502, body), 'transient')
  assert.equal(await kindOf(200, '<html>'), 'transient')
  for (const status of [401, 403, 404]) assert.equal(await kindOf(status), 'permanent', String(status))
  assert.notEqual(await kindOf(400, { detail: 'Request is still in progress' }), null)
  answer(200, { images: [{ url: 'https://fal.example/a.png', content_type: 'image/png' }] })
  const state = await engine.poll(ticket, live())
  assert.ok(state.state === 'failed' && state.error.kind === 'permanent')
  const clip = await new Response(await engine.fetch(ticket, {}, live())).arrayBuffer()
  assert.ok(clip.byteLength > 1000)
})

test('a request that fal itself reports as failed has failed, whatever the status of its result', async () => {
  const engine = open('fal')
  const ticket = await engine.start(request('fal'), live())
  await engine.poll(ticket, live())
  const body = { detail: 'Request timed out', error_type: 'request_timeout' }
  server.script({ method: 'GET', path: RESULT, fault: { kind: 'status', status: 504, body } })
  const late = await engine.poll(ticket, live())
  assert.ok(late.state === 'failed' && late.error.kind === 'transient')
  const error = { error: 'Blocked by the content filter', error_type: 'content_policy_violation' }
  server.script({ method: 'GET', path: /\/status$/, fault: beside(error) })
  const blocked = await engine.poll(ticket, live())
  assert.ok(blocked.state === 'failed' && blocked.error.kind === 'moderation')
})

test('a clip that was blackened, and a result that only names a filter, are blocked', async () => {
  const engine = open('fal')
  const ticket = await engine.start(request('fal'), live())
  await engine.poll(ticket, live())
  const faults = [
    beside({ has_nsfw_concepts: [true] }),
    beside({ video: null, has_nsfw_concepts: [false, true] }),
    instead({ video: null, detail: 'Output blocked by our content policy (NSFW)' }),
    instead({ detail: [{ type: 'content_policy_violation', msg: 'leak-marker', loc: ['body'] }] }),
  ]
  for (const fault of faults) {
    server.script({ method: 'GET', path: RESULT, fault })
    const state = await engine.poll(ticket, live())
    assert.equal(state.state === 'failed' && state.error.kind, 'moderation', JSON.stringify(state))
  }
  server.script({ method: 'GET', path: RESULT, fault: beside({ has_nsfw_concepts: [false] }) })
  assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
})

test('a request is canceled by PUT while it is queued, and left alone while it runs or when it is done', async () => {
  server.conduct({ polls: 3 })
  const engine = open('fal')
  const queued = await engine.start(request('fal'), live())
  assert.equal(await engine.cancel(queued), true)
  const { method, path, headers } = server.requests.at(-1)!
  assert.equal(method, 'PUT')
  assert.match(path, /\/requests\/video_\d+\/cancel$/)
  assert.equal(headers.authorization, 'Key secret-key')
  const running = await engine.start(request('fal'), live())
  await engine.poll(running, live())
  await engine.poll(running, live())
  assert.equal(await engine.cancel(running), false)
  assert.notEqual(server.requests.at(-1)!.method, 'PUT')
  server.forget()
  assert.equal(await engine.cancel(running), true)
  server.script({ method: 'GET', fault: { kind: 'status', status: 503 } })
  await assert.rejects(engine.cancel(running), { kind: 'transient' })
})

test('a start without an answer cannot be found again, unless this process was given the ticket', async () => {
  const engine = open('fal')
  const mine = request('fal')
  const begun = since(new Date())
  const ticket = await engine.start(mine, live())
  assert.deepEqual(await engine.recover!(mine, begun), { found: ticket, certain: true })
  assert.equal(await open('fal').recover!(mine, begun), 'unknown')
  assert.equal(engine.listKey!(mine), null)
  assert.match(engine.renderKey!(ticket), /\/fal\/requests\/video_\d+$/)
})
