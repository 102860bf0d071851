import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { createByteDance } from '@ai-sdk/bytedance'
import { createMiniMax } from '@ai-sdk/minimax'
import { createFalClient } from '@fal-ai/client'
import Replicate from 'replicate'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

// The hosted engines cannot be called from a test. Their official clients can: what they accept, unchanged, from the servers that imitate
// those engines is what the adapters are tested with. Each client also sends what the adapter sends, so both are compared.

const server = await startEngineServer()
after(() => server.close())
afterEach(() => server.conduct({ polls: 0, status: null, error: null }))

const INPUT = { prompt: 'A paper boat.', duration: 4 }
/** Sends what is meant for fal's own hosts to the imitation. */
const fal = createFalClient({
  credentials: 'secret-key',
  requestMiddleware: async (request) => ({
    ...request,
    url: request.url.replace('https://queue.fal.run', `${server.url}/fal`),
  }),
})
const replicate = new Replicate({ auth: 'secret-key', baseUrl: `${server.url}/replicate/v1`, useFileOutput: false })
const minimax = createMiniMax({ apiKey: 'secret-key', videoBaseURL: server.url }).video('MiniMax-H3')
const ark = createByteDance({ apiKey: 'secret-key', baseURL: server.url }).video('dreamina-seedance-2-0-260128')

const MP4 = async (url: string) => {
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
}

test("fal's client submits, polls, reads the clip and cancels", async () => {
  server.conduct({ polls: 2 })
  const { request_id, status } = await fal.queue.submit('fal-ai/h3', { input: INPUT })
  assert.equal(status, 'IN_QUEUE')
  const seen: string[] = []
  do seen.push((await fal.queue.status('fal-ai/h3', { requestId: request_id })).status)
  while (seen.at(-1) !== 'COMPLETED')
  assert.deepEqual(
    [...new Set(seen)],
    ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'].filter((word) => seen.includes(word)),
  )
  const { data } = await fal.queue.result('fal-ai/h3', { requestId: request_id })
  await MP4((data as { video: { url: string } }).video.url)
  const start = server.requests.find(({ method, path }) => method === 'POST' && path === '/fal/fal-ai/h3')!
  assert.deepEqual(start.json, INPUT)
  assert.equal(start.headers.authorization, 'Key secret-key')
  const other = await fal.queue.submit('fal-ai/h3', { input: INPUT })
  await fal.queue.cancel('fal-ai/h3', { requestId: other.request_id })
  await assert.rejects(fal.queue.cancel('fal-ai/h3', { requestId: request_id }), { status: 400 })
})

test("Replicate's client creates, gets, lists on all pages and cancels", async () => {
  server.conduct({ polls: 1 })
  const made = await replicate.predictions.create({ model: 'minimax/h3', input: INPUT })
  assert.equal(made.status, 'starting')
  const ended = await replicate.wait(made, { interval: 1 })
  assert.equal(ended.status, 'succeeded')
  await MP4(ended.output as string)
  const other = await replicate.predictions.create({ version: 'a'.repeat(64), input: INPUT })
  assert.equal((await replicate.predictions.cancel(other.id)).status, 'canceled')
  for (let i = 0; i < 120; i++) await replicate.predictions.create({ model: 'minimax/h3', input: INPUT })
  const listed: string[] = []
  for await (const page of replicate.paginate(() => replicate.predictions.list()))
    listed.push(...page.map(({ id }) => id))
  assert.ok(listed.includes(made.id) && listed.length >= 122, `${listed.length} listed`)
})

const OPTIONS = {
  prompt: INPUT.prompt,
  n: 1,
  duration: 4,
  aspectRatio: '16:9',
  resolution: undefined,
  fps: undefined,
  seed: undefined,
  image: undefined,
  providerOptions: {},
} as const

test("the AI SDK's package for MiniMax starts a task and follows it to its clip", async () => {
  server.conduct({ polls: 2 })
  const { operation, warnings } = await minimax.doStart!({ ...OPTIONS, inputReferences: undefined } as never)
  assert.deepEqual(warnings, [])
  const states: string[] = []
  for (;;) {
    const state = await minimax.doStatus!({ operation } as never)
    states.push(state.status)
    if (state.status !== 'completed') continue
    await MP4((state.videos[0] as { url: string }).url)
    break
  }
  assert.equal(states.length, 3)
  const { json, headers, path } = server.requests.find(({ path }) => path === '/v2/video_generation')!
  const { content, duration, ratio } = json as Record<string, unknown>
  assert.deepEqual(
    { content, duration, ratio, path },
    { content: [{ type: 'text', text: INPUT.prompt }], duration: 4, ratio: '16:9', path: '/v2/video_generation' },
  )
  assert.equal(headers.authorization, 'Bearer secret-key')
})

test("the AI SDK's package for ByteDance starts a task and polls it to its clip", async () => {
  server.conduct({ polls: 1 })
  const providerOptions = { bytedance: { pollIntervalMs: 1, pollTimeoutMs: 10_000 } }
  const { videos, warnings } = await ark.doGenerate({ ...OPTIONS, providerOptions } as never)
  assert.deepEqual(warnings, [])
  await MP4((videos[0] as { url: string }).url)
  const start = server.requests.find(({ method, path }) => method === 'POST' && path === '/contents/generations/tasks')!
  const { content, duration, ratio } = start.json as Record<string, unknown>
  assert.deepEqual(
    { content, duration, ratio },
    { content: [{ type: 'text', text: INPUT.prompt }], duration: 4, ratio: '16:9' },
  )
})

test('each reads a failed render as one that failed', async () => {
  server.conduct({ status: 'failed', error: { code: '1026', message: 'sensitive' } })
  const { operation } = await minimax.doStart!({ ...OPTIONS } as never)
  assert.equal((await minimax.doStatus!({ operation } as never)).status, 'error')
  await assert.rejects(async () =>
    ark.doGenerate({ ...OPTIONS, providerOptions: { bytedance: { pollIntervalMs: 1 } } } as never),
  )
  server.conduct({ status: 'failed', error: 'The input was flagged as sensitive (E005)' })
  const failed = await replicate.predictions.create({ model: 'minimax/h3', input: INPUT })
  assert.equal((await replicate.predictions.get(failed.id)).status, 'failed')
  server.conduct({ status: '422', error: { detail: [{ msg: 'flagged', type: 'content_policy_violation' }] } })
  const refused = await fal.queue.submit('fal-ai/h3', { input: INPUT })
  await fal.queue.status('fal-ai/h3', { requestId: refused.request_id })
  await assert.rejects(fal.queue.result('fal-ai/h3', { requestId: refused.request_id }), { status: 422 })
})
