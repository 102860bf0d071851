import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { picture, requestFor } from '../../../../server/engines/check/video/request.ts'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import type { ComfyuiOptions } from '../../../../server/engines/video/comfyui/adapter.ts'
import type { RenderInput, RenderRequest, Ticket } from '../../../../server/engines/video/contract.ts'
import { readAll } from '../../../../server/platform/outbound/exchange.ts'
import { startEngineServer } from '../../../support/upstream/engine-server/server.ts'
import { openComfyui, workflowOf } from './workflows.ts'

const server = await startEngineServer()
after(() => server.close())
const opened: Array<{ close?(): Promise<void> }> = []
afterEach(async () => {
  server.unscript()
  server.conduct({ polls: 0, status: null, error: null, ignores_cancel: false, extra: {}, omit: [] })
  await Promise.all(opened.splice(0).map((engine) => engine.close?.()))
})

const live = () => new AbortController().signal
const open = (more: Partial<ComfyuiOptions> = {}) => {
  const engine = openComfyui(server.url, more)
  opened.push(engine)
  return engine
}
const request = (more: Partial<RenderRequest> = {}, inputs: RenderInput[] = []) => ({
  ...requestFor(open(), 'H3', inputs),
  ...more,
})
const idOf = (ticket: Ticket) => (ticket as { prompt_id: string }).prompt_id
const calls = () => server.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
/** The nodes of the workflow that was sent last. */
function sentNodes(): Record<string, { inputs: Record<string, unknown> }> {
  const { json } = server.requests.findLast(({ path }) => path === '/prompt')!
  return (json as { prompt: Record<string, { inputs: Record<string, unknown> }> }).prompt
}

const PROMPT = 'A cat says <d>こんにちは、"世界"\r\n…\n✨</d> & {{width}} $& \\n 100%'

test('the workflow of the mode is sent: the prompt byte for byte, numbers as numbers, files under the names they were uploaded by', async () => {
  const frame = await picture('first_frame')
  const sent = request({ prompt: PROMPT, seconds: 4, seed: 7 }, [frame])
  const engine = open({ length_rule: '17n+5', multiple_of: 32, pixels_max: 768 * 1344 })
  const id = idOf(await engine.start(sent, live()))
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  const { json, headers } = server.requests.at(-1)!
  const { prompt_id, client_id } = json as Record<string, unknown>
  assert.deepEqual([prompt_id, client_id, headers.authorization], [id, 'kinora', 'Bearer secret-key'])
  const file = `kinora-${id}-first_frame.png`
  const nodes = sentNodes()
  assert.deepEqual(Object.keys(nodes).sort(), ['create', 'load_first_frame', 'render', 'save'])
  assert.deepEqual(nodes.render!.inputs, {
    prompt: PROMPT,
    width: 1344,
    height: 768,
    length: 107,
    seed: 7,
    first_frame: ['load_first_frame', 0],
  })
  assert.deepEqual([nodes.create!.inputs.fps, nodes.save!.inputs.filename_prefix], [24, 'kinora/4s'])
  assert.equal(nodes.load_first_frame!.inputs.image, file)
  const upload = server.requests.findLast(({ path }) => path === '/upload/image')!
  const text = upload.body.toString('latin1')
  assert.ok(upload.body.includes(await readAll(await frame.open())))
  assert.match(text, new RegExp(`name="image"; filename="${file}"\r\ncontent-type: image/png\r\n`))
  assert.match(text, /name="type"\r\n\r\ninput\r\n[\s\S]*name="overwrite"\r\n\r\ntrue\r\n/)
})

test('a start that ComfyUI knows already uploads and submits nothing, whether the render waits, runs or is over', async () => {
  server.conduct({ polls: 1 })
  const sent = request({}, [await picture('last_frame')])
  const ticket = await open().start(sent, live())
  const before = server.started()
  for (let i = 0; i < 4; i++) {
    server.requests.length = 0
    assert.deepEqual(await open().start(sent, live()), ticket)
    assert.ok(
      calls().every((call) => call.startsWith('GET ')),
      calls().join(),
    )
  }
  assert.equal(server.started(), before)
  assert.equal((await open().poll(ticket, live())).state, 'succeeded')
  assert.notEqual(idOf(await open().start({ ...sent, attempt_id: 'attempt_2' }, live())), idOf(ticket))
})

test('a start whose answer was lost is found again: one render, however often it is repeated', async () => {
  const sent = request()
  const before = server.started()
  server.script({ method: 'POST', path: '/prompt', fault: { kind: 'lost_reply' } })
  await assert.rejects(open().start(sent, live()), { kind: 'transient', not_begun: false })
  const ticket = await open().start(sent, live())
  assert.equal(server.started(), before + 1)
  assert.equal((await open().poll(ticket, live())).state, 'succeeded')
})

test('a workflow that ComfyUI refuses is rejected with the node and its input, never with a text', async () => {
  const start = async (body: object) => {
    server.script({ method: 'POST', path: '/prompt', fault: { kind: 'status', status: 400, body } })
    const error = await open()
      .start(request({ prompt: 'leak-marker' }), live())
      .catch((error: unknown) => error)
    assert.ok(error instanceof EngineError)
    assert.doesNotMatch(`${error.message}${JSON.stringify(error)}`, /leak-marker/)
    return [error.kind, error.engine_code, error.not_begun]
  }
  const node = (more: object) => ({
    error: { type: 'prompt_outputs_failed_validation', message: 'leak-marker' },
    node_errors: { '57:8': { errors: [{ type: 'value_not_in_list', message: 'leak-marker', ...more }] } },
  })
  assert.deepEqual(await start(node({ extra_info: { input_name: 'unet_name', received_value: 'leak-marker' } })), [
    ...['rejected', 'value_not_in_list:57:8:unet_name', true],
  ])
  assert.deepEqual(await start(node({ extra_info: { input_name: 'leak-marker is no name' } })), [
    ...['rejected', undefined, true],
  ])
  const missing = { error: { type: 'missing_node_type', message: 'leak-marker' }, node_errors: {} }
  assert.deepEqual(await start(missing), ['rejected', 'missing_node_type', true])
})

test('a ComfyUI that chooses ids itself is asked to stop, and the start fails for good', async () => {
  const body = { prompt_id: '0b7e1b1e-0000-4000-8000-000000000000', number: 1, node_errors: {} }
  server.script({ method: 'POST', path: '/prompt', fault: { kind: 'status', status: 200, body } })
  server.requests.length = 0
  await assert.rejects(open().start(request(), live()), { kind: 'permanent', engine_code: 'no_prompt_id' })
  assert.equal(calls().at(-1), 'GET /queue')
})

test('a workflow of which ComfyUI accepts only a part is taken back, and rejected with the node it left out', async () => {
  const sent = request()
  server.script({ method: 'POST', path: '/prompt', fault: { kind: 'lost_reply' } })
  await assert.rejects(open().start(sent, live()))
  const errors = [{ type: 'value_bigger_than_max', extra_info: { input_name: 'sigma' } }]
  const prompt_id = [...server.renders.keys()].at(-1)!
  const body = { prompt_id, number: 1, node_errors: { 7: { errors } } }
  for (let i = 0; i < 3; i++) server.script({ method: 'GET', fault: { kind: 'status', status: 200, body: EMPTY } })
  server.script({ method: 'POST', path: '/prompt', fault: { kind: 'status', status: 200, body } })
  await assert.rejects(open().start(sent, live()), { kind: 'rejected', engine_code: 'value_bigger_than_max:7:sigma' })
  assert.ok(!server.renders.has(prompt_id), 'taken out of the queue')
})

/** Neither a history nor a queue has anything. */
const EMPTY = { queue_running: [], queue_pending: [] }

test('a poll distinguishes waiting, running, succeeded, failed and lost', async () => {
  const engine = open()
  server.conduct({ polls: 2 })
  const ticket = await engine.start(request(), live())
  assert.deepEqual(await engine.poll(ticket, live()), { state: 'running' })
  server.conduct({ polls: 0 })
  const end = async (conduct: Parameters<typeof server.conduct>[0]) => {
    server.conduct({ status: null, error: null, extra: {}, omit: [], ...conduct })
    return engine.poll(await engine.start(request(), live()), live())
  }
  assert.equal((await end({})).state, 'succeeded')
  assert.equal((await end({ omit: ['status'] })).state, 'succeeded')
  const failure = async (conduct: Parameters<typeof server.conduct>[0]) => {
    const state = await end(conduct)
    assert.ok(state.state === 'failed', JSON.stringify(state))
    assert.doesNotMatch(`${state.error.message}${JSON.stringify(state.error)}`, /leak-marker/)
    return [state.error.kind, state.error.engine_code]
  }
  const error = { node_id: '12', exception_message: 'leak-marker', traceback: ['leak-marker'] }
  const broken = { ...error, exception_type: 'RuntimeError' }
  assert.deepEqual(await failure({ status: 'error', error: broken }), ['rejected', 'RuntimeError:12'])
  const full = { ...error, exception_type: 'torch.cuda.OutOfMemoryError' }
  assert.deepEqual(await failure({ status: 'error', error: full }), ['rejected', 'out_of_memory:12'])
  const filtered = {
    ...error,
    exception_type: 'Exception',
    exception_message: 'Blocked by our content policy: leak-marker',
  }
  assert.deepEqual(await failure({ status: 'error', error: filtered }), ['moderation', 'Exception:12'])
  const interrupted = { status_str: 'error', completed: false, messages: [['execution_interrupted', {}]] }
  assert.deepEqual(await failure({ extra: { status: interrupted } }), ['transient', 'interrupted'])
  assert.deepEqual(await failure({ extra: { outputs: {} } }), ['permanent', 'no_video'])
  server.forget()
  assert.deepEqual(await engine.poll(ticket, live()), { state: 'lost' })
})

test('a render far back in the queue is asked about less often', async () => {
  const engine = open()
  const tickets: Ticket[] = []
  for (let i = 0; i < 40; i++) tickets.push(await engine.start(request(), live()))
  const number = (i: number) => [i, idOf(tickets[i]!)]
  const body = { queue_running: [number(0)], queue_pending: [...tickets.keys()].slice(1).reverse().map(number) }
  const wait = async (i: number) => {
    server.script({ path: /\/history\//, fault: { kind: 'status', status: 200, body: {} } })
    server.script({ path: '/queue', fault: { kind: 'status', status: 200, body } })
    const state = await engine.poll(tickets[i]!, live())
    return state.state === 'running' ? state.next_poll_seconds : state
  }
  assert.deepEqual([await wait(0), await wait(1), await wait(6), await wait(39)], [undefined, 6, 11, 30])
})

test('a render that ends between the look at the history and the one at the queue is not lost', async () => {
  const engine = open()
  const ticket = await engine.start(request(), live())
  server.script({ path: /\/history\//, fault: { kind: 'status', status: 200, body: {} } })
  server.renders.get(idOf(ticket))!.polled = 1
  assert.equal((await engine.poll(ticket, live())).state, 'succeeded')
})

test('the output is the first saved video under whatever name a node reports it, or that of output_node', async () => {
  const fetched = async (outputs: object, more: Partial<ComfyuiOptions> = {}) => {
    server.conduct({ extra: { outputs } })
    const engine = open(more)
    const state = await engine.poll(await engine.start(request(), live()), live())
    return state.state === 'succeeded' ? (state.output as { filename: string }).filename : state.state
  }
  const file = (filename: string, type = 'output') => ({ filename, subfolder: 'video', type })
  assert.equal(await fetched({ 5: { gifs: [file('a.MP4')] } }), 'a.MP4')
  assert.equal(await fetched({ 5: { videos: [file('a.webm')] }, 6: { images: [file('b.png')] } }), 'a.webm')
  assert.equal(await fetched({ 5: { images: [file('p.mp4', 'temp')] }, 6: { images: [file('b.mp4')] } }), 'b.mp4')
  assert.equal(await fetched({ 5: { images: [file('p.mp4', 'temp')] } }), 'p.mp4')
  assert.equal(await fetched({ 5: { images: [file('a.png')], text: ['x.mp4'], animated: [true] } }), 'failed')
  const two = { save: { images: [file('a.mp4')] }, create: { images: [file('b.mp4')] } }
  assert.equal(await fetched(two, { output_node: 'create' }), 'b.mp4')
  const engine = open()
  server.requests.length = 0
  await assert.rejects(engine.fetch({ prompt_id: 'a' }, {}, live()), { kind: 'permanent' })
  const ticket = await engine.start(request(), live())
  await engine.fetch(ticket, file('ü & b.mp4'), live()).catch(() => {})
  assert.equal(server.requests.at(-1)!.path, '/view?filename=%C3%BC+%26+b.mp4&subfolder=video&type=output')
})

test('cancel takes a waiting render out of the queue, and interrupts only the one that runs', async () => {
  const engine = open()
  server.conduct({ polls: 9 })
  const waiting = await engine.start(request(), live())
  server.requests.length = 0
  assert.equal(await engine.cancel(waiting), true)
  assert.deepEqual(calls(), ['GET /queue', 'POST /queue', 'GET /queue'])
  assert.deepEqual(server.requests[1]!.json, { delete: [idOf(waiting)] })
  assert.deepEqual(await engine.poll(waiting, live()), { state: 'lost' })

  const running = await engine.start(request(), live())
  await engine.poll(running, live())
  server.requests.length = 0
  assert.equal(await engine.cancel(running), true)
  assert.deepEqual(calls(), ['GET /queue', 'POST /interrupt', 'GET /queue'])
  assert.deepEqual(server.requests[1]!.json, { prompt_id: idOf(running) })
  assert.equal((await engine.poll(running, live())).state, 'failed')

  server.requests.length = 0
  assert.equal(await engine.cancel(running), true, 'nothing is left to stop')
  assert.deepEqual(calls(), ['GET /queue'])
})

test('cancel of what cannot be stopped is false; of an interrupt that was accepted and takes its time, true', async () => {
  const engine = open()
  server.conduct({ polls: 9, ignores_cancel: true })
  const waiting = await engine.start(request(), live())
  assert.equal(await engine.cancel(waiting), false)
  await engine.poll(waiting, live())
  server.requests.length = 0
  assert.equal(await engine.cancel(waiting), true)
  assert.equal(calls().filter((call) => call === 'POST /interrupt').length, 1)
  server.script({ method: 'POST', path: '/interrupt', times: 9, fault: { kind: 'status', status: 403 } })
  assert.equal(await engine.cancel(waiting), false)
  server.unscript()
  server.script({ path: '/queue', fault: { kind: 'status', status: 503 } })
  await assert.rejects(engine.cancel(waiting), { kind: 'transient' })
})

test('the workflows decide what the model takes', () => {
  const capabilities = (workflows: ComfyuiOptions['workflows'], more: Partial<ComfyuiOptions> = {}) =>
    open({ workflows, ...more }).capabilities('H3')
  const { modes, references_max, cancel, idempotency, media, embedded } = open().capabilities('H3')
  assert.deepEqual([...modes], ['text', 'first_frame', 'last_frame', 'both_frames', 'references'])
  assert.deepEqual(references_max, { images: 2, videos: 1, audio: 1, files: 4 })
  assert.deepEqual([cancel, idempotency, media, embedded], ['any', 'client_id', 'bytes', undefined])
  const frames = capabilities({ first_frame: workflowOf('first_frame'), last_frame: workflowOf('last_frame') })
  assert.deepEqual([...frames.modes], ['first_frame', 'last_frame'])
  assert.deepEqual(frames.references_max, { images: 0, videos: 0, audio: 0, files: 0 })
  const narrow = capabilities({ text: workflowOf() }, { seconds: [5, 10], ratios: ['1:1'] })
  assert.deepEqual([narrow.seconds, [...narrow.aspect_ratios], narrow.auto_aspect_ratio], [[5, 10], ['1:1'], false])
})
