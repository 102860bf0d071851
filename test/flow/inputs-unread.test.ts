import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import type { VideoEngine } from '../../server/engines/video/contract.ts'
import { instantVideo } from '../../server/engines/video/instant.ts'
import { soleEngine } from '../../server/engines/video/pool.ts'
import { BlobsAway, DiskFull } from '../../server/platform/blobs/blobs.ts'
import { samplePicture } from '../support/data/media.ts'
import { COST, MODEL, OPENING, startPipelineApp, upload } from './pipeline-app.ts'

const instant = instantVideo({ kind: 'instant' })
let calls = 0
let started = 0
/** An engine that gets inputs as bytes and cannot say what became of a start that was not answered. */
const engine: VideoEngine = {
  ...instant,
  capabilities: (model) => ({ ...instant.capabilities(model), idempotency: 'none' }),
  async start(request, signal) {
    calls += 1
    try {
      for (const input of request.inputs) for await (const _ of await input.open());
    } catch (error) {
      throw new EngineError('transient', 'the request was cut short', { cause: error })
    }
    started += 1
    return instant.start(request, signal)
  },
}
const moderate = async () => ({ verdict: 'allow' as const, categories: [], engine: 'test', version: '1' })
const service = await startPipelineApp(
  {},
  {
    engines: {
      video: new Map([[MODEL, soleEngine({ engine, model: MODEL, name: 'instant' })]]),
      moderation: { sees_images: true, media: 'allow', moderate },
      translation: { available: false, translate: () => Promise.reject(new EngineError('permanent', 'none')) },
      chat: new Map(),
      close: async () => {},
    },
  },
)
after(() => service.close())

test('a bucket that fails while inputs are sent counts against no start: the job waits, and renders once', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const { blobs } = service.app.ctx
  const open = blobs.open.bind(blobs)
  const faults = [
    () => Promise.reject(new BlobsAway('GetObject: 503')),
    async () => Readable.from(cutShort()),
    async () => Readable.from(cutShort()),
    () => Promise.reject(new BlobsAway('GetObject: 503')),
  ]
  blobs.open = (key, range) => faults.shift()?.() ?? open(key, range)
  const id = await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  const job = await service.drive(id)
  assert.deepEqual([job.status, job.error_code, job.attempt?.number], ['completed', null, 1])
  assert.deepEqual([calls, started], [5, 1])
  const { balance, held, charges } = await service.balance()
  assert.deepEqual([balance, held, charges], [OPENING - COST, 0n, 1])
  assert.deepEqual(await service.app.audit(), {})
})

test('storage without space for the clip ends no job: it waits, and completes without a second render', async () => {
  const { blobs } = service.app.ctx
  const stage = blobs.stage.bind(blobs)
  let full = 10
  blobs.stage = async (source, options) => {
    if (full-- > 0) throw new DiskFull('no space left for files')
    return stage(source, options)
  }
  const before = started
  const job = await service.drive(await service.submit({}))
  blobs.stage = stage
  assert.ok(full < 0, 'the storage was not full for long enough')
  assert.deepEqual([job.status, job.error_code, job.attempt?.number, started - before], ['completed', null, 1, 1])
  assert.deepEqual(await service.app.audit(), {})
})

async function* cutShort() {
  yield Buffer.from('a part')
  throw new BlobsAway('GetObject: interrupted')
}
