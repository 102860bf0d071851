import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { RenderState, VideoEngine } from '../../server/engines/video/contract.ts'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import type { Log, LogFields } from '../../server/platform/log.ts'
import { runCommand } from '../support/command.ts'
import { send } from '../support/http/send.ts'
import { MODEL, OPENING, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

/** What the engine says of every render: it cannot stop one. */
let says: () => RenderState
let polls = 0
let asked = 0
const instant = instantVideo({ kind: 'instant' })
const engine: VideoEngine = {
  ...instant,
  capabilities: (model) => ({ ...instant.capabilities(model), cancel: 'none', idempotency: 'none' }),
  renderKey: (ticket) => JSON.stringify(ticket),
  async poll() {
    polls += 1
    return says()
  },
  async cancel() {
    asked += 1
    return false
  },
}
const moderate = async () => ({ verdict: 'allow' as const, categories: [], engine: 'test', version: '1' })

const words: LogFields[] = []
const warn = (event: string, fields: LogFields = {}) => void (event === 'unknown_render_status' && words.push(fields))
const log: Log = { debug: () => {}, info: () => {}, warn, error: () => {} }

let service: PipelineApp
before(async () => {
  service = await startPipelineApp(
    { limits: 'stalled_after_seconds: 300' },
    {
      log,
      engines: {
        video: new Map([[MODEL, soleEngine({ engine, model: MODEL, name: 'instant' })]]),
        moderation: { sees_images: false, media: 'allow', moderate },
        translation: { available: false, translate: () => Promise.reject(new Error('none')) },
        chat: new Map(),
        close: async () => {},
      },
    },
  )
})
after(() => service.close())
afterEach(async () => {
  assert.deepEqual(await service.app.audit(), {})
  assert.deepEqual(await service.balance(), { balance: OPENING, held: 0n, running: 0, charges: 0 })
  words.length = 0
})

const cancel = (id: string) => send(service.app, 'POST', `/v1/videos/${id}/cancel`, service.customer)

/** Submits a job and follows it for `seconds` after its render began. */
async function followed(seconds: number): Promise<string> {
  const id = await service.submit()
  const { attempt } = await service.drive(id, ({ status }) => status === 'in_progress')
  const until = attempt!.answered_at!.getTime() + seconds * 1000
  await service.drive(id, ({ next_run_at }) => next_run_at.getTime() > until)
  service.app.clock.set(new Date(until))
  return id
}

test('a render of which the engine says nothing usable: cancel is 409 before stalled_after_seconds, 200 from then on', async () => {
  says = () => ({ state: 'running', unknown_status: 'pondering' })
  const id = await followed(290)
  const refused = await cancel(id)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  service.app.clock.advance(20)
  const { render_key } = (await service.row(id)).attempt!
  const { status, body } = await cancel(id)
  assert.deepEqual([status, body.status], [200, 'canceled'])
  const { attempt, cancel_due_at } = await service.row(id)
  assert.deepEqual([attempt?.state, attempt?.render_key], ['canceled', render_key], 'nobody else gets the render')
  assert.ok(render_key !== null && cancel_due_at !== null && asked > 1, 'the engine is asked to stop it')
})

test('an unknown word is logged once a job and shown to the operator', async () => {
  says = () => ({ state: 'running', unknown_status: 'pondering' })
  polls = 0
  const id = await followed(310)
  assert.ok(polls > 10)
  assert.deepEqual(words, [{ video_id: id, engine: 'instant', detail: 'pondering' }])
  const env = { DATABASE_URL: service.app.database.url }
  const { stdout } = await runCommand(['admin', 'job', 'list', '--limit', '1', '--json'], env)
  const [listed] = JSON.parse(stdout).data
  assert.deepEqual([listed.id, listed.starts, listed.render, listed.unknown_status], [id, 1, 'rendering', 'pondering'])
  await cancel(id)
})

const USABLE: Record<string, () => RenderState> = {
  'a status that is understood': () => ({ state: 'running' }),
  'progress that moves, under an unknown word': () => ({
    state: 'running',
    unknown_status: 'x',
    progress: (polls / 5) % 99,
  }),
  'words that change': () => ({ state: 'running', unknown_status: `step ${polls}` }),
}
test('a render of which the engine says something usable cannot be left, however long it takes', async () => {
  for (const [name, says_so] of Object.entries(USABLE)) {
    says = says_so
    polls = 0
    const id = await followed(400)
    assert.equal((await cancel(id)).status, 409, name)
    says = () => ({ state: 'running', unknown_status: 'over' })
    service.app.clock.advance(320)
    assert.equal((await cancel(id)).status, 200, name)
  }
})
