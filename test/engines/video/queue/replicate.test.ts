import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture } from '../../../../server/engines/check/video/request.ts'
import type { RenderRequest } from '../../../../server/engines/video/contract.ts'
import type { QueueOptions } from '../../../../server/engines/video/queue/adapter.ts'
import { live, since, startQueue } from './open.ts'

const { server, open, request, closeEngines } = await startQueue()
after(() => server.close())
afterEach(closeEngines)

const VERSION = 'a'.repeat(64)
const SEEDLESS = {
  prompt: '{{prompt}}',
  seconds: '{{seconds}}',
  aspect_ratio: '{{aspect_ratio}}',
  image: '{{first_frame}}',
}

/** Starts a render whose answer is lost on the way. */
const lose = async (sent: RenderRequest, more: Partial<QueueOptions> = {}) => {
  server.script({ method: 'POST', fault: { kind: 'lost_reply' } })
  await assert.rejects(open('replicate', more).start(sent, live()), { kind: 'transient', not_begun: false })
  return { id: `video_${server.started()}` }
}

test('a model is named in the path, a version in the body; the limit goes as Cancel-After', async () => {
  await open('replicate', { cancel_after_seconds: 1800 }).start(request('replicate'), live())
  const named = server.requests.at(-1)!
  assert.equal(named.path, '/replicate/v1/models/minimax/h3/predictions')
  assert.equal(named.headers.authorization, 'Bearer secret-key')
  assert.equal(named.headers['cancel-after'], '1800s')
  const { prompt } = request('replicate')
  assert.deepEqual(named.json, { input: { prompt, duration: 4, aspect_ratio: '16:9', seed: 7 } })
  for (const model of [VERSION, `minimax/h3:${VERSION}`]) {
    await open('replicate').start(request('replicate', { model }), live())
    const { path, json, headers } = server.requests.at(-1)!
    assert.equal(path, '/replicate/v1/predictions')
    assert.equal((json as { version?: string }).version, model)
    assert.equal(headers['cancel-after'], undefined)
  }
})

test('every status has its meaning, and an error text only gives its kind away', async () => {
  const end = async (status: string, error: string | null, extra: Record<string, unknown> = {}) => {
    server.conduct({ status, error, extra })
    const engine = open('replicate')
    const state = await engine.poll(await engine.start(request('replicate'), live()), live())
    assert.doesNotMatch(JSON.stringify(state), /leak-marker/)
    return state.state === 'failed' ? [state.error.kind, state.error.subject] : state.state
  }
  assert.deepEqual(await end('canceled', null), ['transient', undefined])
  assert.deepEqual(await end('aborted', null), ['transient', undefined])
  assert.deepEqual(await end('failed', 'The input was flagged as sensitive (E005): leak-marker'), [
    'moderation',
    undefined,
  ])
  assert.deepEqual(await end('failed', 'Invalid image: leak-marker'), ['rejected', 'reference_media'])
  assert.deepEqual(await end('failed', 'Prediction interrupted; please retry'), ['transient', undefined])
  assert.deepEqual(await end('failed', 'leak-marker'), ['rejected', undefined])
  assert.equal(await end('succeeded', null, { output: null, data_removed: true }), 'lost')
  assert.deepEqual(await end('succeeded', null, { output: 'done' }), ['permanent', undefined])
  assert.equal(await end('succeeded', null, { output: ['https://replicate.example/a.mp4'] }), 'succeeded')
  assert.equal(await end('a status of tomorrow', null), 'running')
})

test('a canceled prediction is stopped by POST; one that succeeded is not', async () => {
  server.conduct({ polls: 5 })
  const engine = open('replicate')
  const ticket = await engine.start(request('replicate'), live())
  assert.equal(await engine.cancel(ticket), true)
  assert.match(server.requests.at(-1)!.path, /\/predictions\/video_\d+\/cancel$/)
  const state = await engine.poll(ticket, live())
  assert.ok(state.state === 'failed' && state.error.kind === 'transient')
  server.conduct({ polls: 0 })
  const done = await engine.start(request('replicate'), live())
  await engine.poll(done, live())
  assert.equal(await engine.cancel(done), false)
  server.forget()
  assert.equal(await engine.cancel(done), true)
})

test('a start without an answer is found in the list by its input; the seed makes it certain', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request('replicate', { prompt: 'unlike any other', seed: 99 }, [await picture('first_frame')])
  const found = await lose(mine)
  await open('replicate').start({ ...mine, seed: 98 }, live())
  assert.deepEqual(await open('replicate').recover!(mine, begun), { found, certain: true })
  assert.equal(await open('replicate').recover!(mine, since(begun.since, [found.id])), 'absent', 'another job has it')
  for (const not of [{ prompt: 'never sent' }, { seconds: 5 }, { model: 'minimax/h4' }, { seed: 1 }])
    assert.equal(await open('replicate').recover!({ ...mine, ...not }, begun), 'absent')
  assert.equal(await open('replicate').recover!(mine, since(new Date(Date.now() + 60_000))), 'absent')
})

test('without a seed in the input equal renders cannot be distinguished, and a list without inputs leaves it unknown', async () => {
  server.forget()
  const begun = since(new Date())
  const more = { input: SEEDLESS }
  const mine = request('replicate', { prompt: 'twice', model: `minimax/h3:${VERSION}` })
  const found = await lose(mine, more)
  const engine = open('replicate', more)
  assert.deepEqual(await engine.recover!(mine, begun), { found, certain: false })
  assert.deepEqual(await engine.recover!(mine, begun), { found, certain: false }, 'a guess stays one when asked again')
  await lose(mine, more)
  assert.equal(await open('replicate', more).recover!(mine, begun), 'several')
  server.conduct({ extra: { data_removed: true, input: {} } })
  const removed = request('replicate', { prompt: 'removed' })
  await lose(removed, more)
  assert.equal(await open('replicate', more).recover!(removed, begun), 'unknown')
})

test('a prediction is found on any page of the list, and a next page elsewhere is never asked for', async () => {
  server.forget()
  const begun = since(new Date())
  const mine = request('replicate', { prompt: 'the first of many' })
  const found = await lose(mine)
  const engine = open('replicate')
  for (let i = 0; i < 210; i++) await engine.start({ ...mine, seed: 1000 + i, attempt_id: `att_${i}` }, live())
  assert.deepEqual(await open('replicate').recover!(mine, begun), { found, certain: true })
  const body = { results: [], next: 'http://169.254.169.254/v1/predictions' }
  server.script({ method: 'GET', fault: { kind: 'status', status: 200, body } })
  await assert.rejects(open('replicate').recover!(mine, begun), { kind: 'permanent' })
})
