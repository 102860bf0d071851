import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { samplePicture } from '../support/data/media.ts'
import { changeSecret, type SecretChange } from '../support/sites/secret-change.ts'
import { type PipelineApp, startPipelineApp, upload } from './pipeline-app.ts'

const SGLANG =
  '{ kind: videos-api, dialect: sglang, base_url: "{engines}", references_base_url: "{engines}", model: MiniMax-H3 }'
const MODERATION = '{ kind: openai-moderations, base_url: "{engines}", timeout_seconds: 5 }'

let service: PipelineApp
let change: SecretChange
before(async () => {
  service = await startPipelineApp({ model: SGLANG, moderation: MODERATION })
  change = await changeSecret(service.app)
})
after(async () => {
  await change.close()
  await service.close()
})
afterEach(async () => {
  service.engines.unscript()
  assert.deepEqual(await service.app.audit(), {})
})

const judged = () => service.engines.requests.filter(({ path }) => path === '/v1/moderations').length

/** Lets everything that is due go on after the change, until the job has left `status`. */
async function goOn(id: string, status: string): Promise<string> {
  for (let steps = 0; steps < 20; steps++) {
    const job = await service.row(id)
    if (job.status !== status) return job.status
    service.app.clock.set(job.next_run_at)
    await change.after.tick()
  }
  throw new Error(`the job is still ${status}`)
}

test('a job moderated before the change starts after it, and is not judged again', async () => {
  service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'status', status: 503 } })
  const id = await service.submit()
  await service.drive(id, ({ tries }) => tries === 1)
  const before = judged()
  await goOn(id, 'queued')
  assert.equal((await service.drive(id)).status, 'completed')
  assert.equal(judged(), before)
})

test('what was allowed before the change of a job that is still judged is not asked again', async () => {
  const references = { images: [{ file_id: await upload(service, await samplePicture('png')) }] }
  const { moderation } = service.engines.answers
  service.engines.answers.moderation = (body) => {
    const seen = JSON.stringify(body.input).includes('data:image')
    return seen ? {} : moderation(body)
  }
  const id = await service.submit({ references })
  await service.drive(id, ({ tries }) => tries === 1)
  service.engines.answers.moderation = moderation
  const before = judged()
  await goOn(id, 'moderating')
  assert.equal((await service.drive(id)).status, 'completed')
  assert.equal(judged() - before, 1, 'the picture alone')
})
