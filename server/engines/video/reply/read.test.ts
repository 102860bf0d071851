import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineError } from '../../engine-error.ts'
import { readList, readPoll, readStart } from './read.ts'

const reply = (json: unknown, status = 200) => ({ status, headers: {}, text: '', json })
const clip = 'https://cdn.example/ok.mp4'

/** The state in few words: with the kind of a failure, the clip of a success, and what a running render reports. */
function stateOf(json: unknown, status = 200): unknown {
  const state = readPoll(reply(json, status), {})
  if (state.state === 'failed') return state.error.kind
  if (state.state === 'succeeded') return (state.output as { url?: string }).url ?? 'succeeded'
  const { progress, unknown_status } = state as { progress?: number; unknown_status?: string }
  return [state.state, progress ?? unknown_status].filter((each) => each !== undefined).join(' ')
}

/** Views as services and gateways document them, each with what it means. */
const VIEWS: ReadonlyArray<[what: string, json: unknown, state: string]> = [
  ['OpenAI', { id: 'v', object: 'video', status: 'in_progress', progress: 33, error: null }, 'running 33'],
  ['OpenAI, done', { id: 'v', object: 'video', status: 'completed', progress: 100, error: null }, 'succeeded'],
  ['OpenAI, failed', { id: 'v', status: 'failed', error: { code: 'moderation_blocked', message: '' } }, 'moderation'],
  [
    'new-api',
    { code: 'success', message: '', data: { task_id: 't', status: 'SUCCESS', progress: '100%', fail_reason: clip } },
    clip,
  ],
  ['new-api, waiting', { code: 'success', data: { task_id: 't', status: 'NOT_START', progress: '0%' } }, 'running 0'],
  ['new-api, as OpenAI', { id: 't', status: 'completed', metadata: { url: clip } }, clip],
  [
    'Kling',
    {
      code: 0,
      message: 'SUCCEED',
      request_id: 'r',
      data: { task_id: 't', task_status: 'succeed', task_result: { videos: [{ id: 'c', url: clip }] } },
    },
    clip,
  ],
  [
    'Kling, failed',
    {
      code: 0,
      data: {
        task_id: 't',
        task_status: 'failed',
        task_status_msg: 'Failure to pass the risk control system',
      },
    },
    'moderation',
  ],
  ['DashScope', { request_id: 'r', output: { task_id: 't', task_status: 'SUCCEEDED', video_url: clip } }, clip],
  [
    'DashScope, refused',
    { request_id: 'r', output: { task_id: 't', task_status: 'FAILED', code: 'DataInspectionFailed', message: '' } },
    'moderation',
  ],
  [
    'kie.ai',
    {
      code: 200,
      msg: 'success',
      data: { taskId: 't', state: 'success', resultJson: `{"resultUrls":["${clip}"]}`, failCode: '' },
    },
    clip,
  ],
  [
    'kie.ai, running',
    { code: 200, msg: 'success', data: { taskId: 't', state: 'generating', failCode: null } },
    'running',
  ],
  [
    'PiAPI',
    {
      code: 200,
      data: { task_id: 't', status: 'Completed', output: { video_url: clip }, error: { code: 0, message: '' } },
    },
    clip,
  ],
  ['Runway', { id: 't', status: 'SUCCEEDED', output: [clip] }, clip],
  ['Runway, refused', { id: 't', status: 'FAILED', failure: '', failureCode: 'SAFETY.INPUT.TEXT' }, 'moderation'],
  ['Runway, throttled', { id: 't', status: 'THROTTLED', progress: 0.2 }, 'running 20'],
  [
    'Luma',
    { id: 't', state: 'completed', failure_reason: null, assets: { video: clip, image: 'https://cdn.example/a.jpg' } },
    clip,
  ],
  [
    'Novita',
    { task: { task_id: 't', status: 'TASK_STATUS_SUCCEED', reason: '' }, videos: [{ video_url: clip }] },
    clip,
  ],
  ['BFL', { id: 't', status: 'Content Moderated', result: null }, 'moderation'],
  ['BFL, unknown', { id: 't', status: 'Task not found', result: null }, 'lost'],
  [
    'HeyGen',
    { code: 100, data: { id: 't', status: 'completed', video_url: clip, thumbnail_url: 'https://cdn.example/a.jpg' } },
    clip,
  ],
  ['OpenRouter', { id: 't', polling_url: 'https://openrouter.ai/api/v1/videos/t', status: 'pending' }, 'running'],
  [
    'Ark',
    { id: 't', status: 'succeeded', content: { video_url: clip, last_frame_url: 'https://cdn.example/last' } },
    clip,
  ],
  [
    'Google',
    { name: 'models/veo/operations/o', done: true, response: { generateVideoResponse: { raiMediaFilteredCount: 1 } } },
    'moderation',
  ],
  [
    'an input repeated',
    { id: 't', status: 'queued_remotely', input: { video_url: clip }, input_reference: clip },
    'running queued_remotely',
  ],
  ['a review of its own', { id: 't', status: 'moderating' }, 'running'],
  ['Google Flow', { id: 't', status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' }, 'succeeded'],
  ['Google Flow, waiting', { id: 't', status: 'MEDIA_GENERATION_STATUS_PENDING' }, 'running'],
  ['DashScope, without a reason', { request_id: 'r', output: { task_id: 't', task_status: 'FAILED' } }, 'rejected'],
  ['DashScope, unknown', { request_id: 'r', output: { task_id: 't', task_status: 'UNKNOWN' } }, 'running UNKNOWN'],
  ['DashScope, IP', { output: { task_id: 't', task_status: 'FAILED', code: 'IPInfringementSuspect' } }, 'moderation'],
  [
    'WaveSpeed',
    { code: 200, data: { id: 't', status: 'completed', outputs: [clip], has_nsfw_contents: [false] } },
    clip,
  ],
  [
    'WaveSpeed, blocked',
    { code: 200, data: { id: 't', status: 'completed', outputs: [clip], has_nsfw_contents: [true] } },
    'moderation',
  ],
  ['xAI', { status: 'done', video: { url: clip, duration: 8, respect_moderation: true } }, clip],
  ['xAI, blocked', { status: 'done', video: { url: clip, duration: 8, respect_moderation: false } }, 'moderation'],
  [
    'vLLM-Omni, out of memory',
    { id: 't', status: 'failed', error: { code: 500, message: 'CUDA out of memory. Tried to allocate 2.00 GiB' } },
    'rejected',
  ],
  ['Grok', { progress: 100, videoId: 'v', videoPostId: 'p', moderated: true }, 'moderation'],
  ['Vidu', { id: 't', state: 'failed', err_code: 'CreationPolicyViolation', creations: [] }, 'moderation'],
  ['Vidu, input', { id: 't', state: 'failed', err_code: 'AuditSubmitIllegal', creations: [] }, 'moderation'],
  ['an outer success alone', { status: 'success', data: { id: 't', progress: '10%' } }, 'running 10'],
]

test('views of many services are read alike', () => {
  for (const [what, json, state] of VIEWS) assert.equal(stateOf(json), state, what)
})

/** What failed renders say, each with the kind of failure that it is. */
const REASONS: ReadonlyArray<[message: string, kind: string]> = [
  ['The request failed because the output audio may be related to copyright restrictions. Request id: 0', 'moderation'],
  ['The request failed because the input image may contain real person.', 'moderation'],
  ['Input data is suspected of being involved in IP infringement.', 'moderation'],
  ['Content Exists Risk', 'moderation'],
  ['Could not generate images with the given prompts. Please try again with different inputs.', 'rejected'],
  ['Something went wrong. Please try again later.', 'transient'],
]

test('the reasons of failed renders are read from their texts', () => {
  for (const [message, kind] of REASONS)
    assert.equal(stateOf({ id: 't', status: 'failed', error: { message } }), kind, message)
})

test('a view that is about a failed input is of a failed render, not of one that is gone', () => {
  const error = { code: 'invalid_input', message: 'The input video was not found' }
  assert.equal(stateOf({ id: 't', status: 'failed', error }), 'rejected')
  assert.equal(stateOf({ error: { message: 'The video t was not found' } }, 400), 'lost')
})

test('an id is taken from the render, not from the call or from its clip', () => {
  const idOf = (json: unknown) => readStart(reply(json), {})
  assert.equal(idOf({ request_id: 'trace-1', data: { task_id: 42 } }), '42')
  assert.equal(idOf({ id: 'v1', status: 'queued', generation_id: 'g1' }), 'v1')
  assert.equal(idOf({ task_id: 't1', video: { id: 'c1' } }), 't1')
  assert.equal(idOf({ request_id: 'r1', status: 'IN_QUEUE' }), 'r1')
  assert.equal(idOf({ id: 'v1', status: 'failed', error: { code: 'server_error' } }), 'v1')
  assert.throws(() => idOf({ request_id: 'trace-1', error: { message: 'x' } }), { kind: 'rejected' })
  assert.throws(() => idOf({ message: 'ok' }), { kind: 'transient', not_begun: false })
})

test('a busy engine has begun nothing, whatever status it says so with', () => {
  const error = (json: unknown, status: number) => {
    try {
      return readStart(reply(json, status), {})
    } catch (thrown) {
      assert.ok(thrown instanceof EngineError)
      return [thrown.kind, thrown.not_begun]
    }
  }
  assert.deepEqual(error({ error: { code: 'ServerOverloaded' } }, 500), ['transient', true])
  assert.deepEqual(error({ error: { message: 'Too many requests in the queue' } }, 400), ['transient', true])
  assert.deepEqual(error({ error: { message: 'something broke' } }, 500), ['transient', false])
  const balance = { type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } }
  assert.deepEqual(error(balance, 500), ['permanent', true])
  const no_channel = { error: { code: 'model_not_found', message: 'No available channel for model m (distributor)' } }
  assert.deepEqual(error(no_channel, 503), ['transient', true])
  assert.deepEqual(error({ error: '{"error":{"code":"content_policy_violation"}}' }, 500), ['moderation', true])
})

test('a list is found under its wrappers, each render with its id as text', () => {
  const ids = (json: unknown) => readList(reply(json), {}).items?.map(({ id }) => id)
  assert.deepEqual(ids({ data: [{ id: 1 }, { id: 'b' }] }), ['1', 'b'])
  assert.deepEqual(ids({ code: 0, data: { items: [{ task_id: 'a' }], total: 1 } }), ['a'])
  assert.deepEqual(ids([{ id: 'a' }, {}]), ['a', undefined])
  assert.equal(ids({ id: 'a' }), undefined)
})
