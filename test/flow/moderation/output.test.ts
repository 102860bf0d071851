import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { FAILURES } from '../../../server/videos/job.ts'
import { videoClaims } from '../../../server/videos/pipeline/claims.ts'
import { COST, type PipelineApp, startPipelineApp } from '../pipeline-app.ts'

const ENGINE = '{ kind: openai-moderations, base_url: "{engines}", timeout_seconds: 1 }'
const TRANSCRIPTION = 'transcription: { base_url: "{engines}", model: whisper-1, timeout_seconds: 1 }'

let service: PipelineApp
let hearing: PipelineApp
let unchecked: PipelineApp
before(async () => {
  service = await startPipelineApp({ moderation: ENGINE, moderation_more: 'output: true' })
  hearing = await startPipelineApp({ moderation: ENGINE, moderation_more: `output: true, ${TRANSCRIPTION}` })
  unchecked = await startPipelineApp({ moderation: ENGINE })
})
after(() => Promise.all([service, hearing, unchecked].map((each) => each.close())))
afterEach(async () => {
  armFailpoint(undefined)
  for (const each of [service, hearing, unchecked]) {
    each.engines.conduct({ polls: 0 })
    each.engines.unscript()
    each.engines.release()
    assert.deepEqual(await each.app.audit(), {})
  }
})

/** Pictures of the one clip that the engine renders. */
let frames = 0

/** Submits a job and waits until the engine renders; the next poll finds it finished. */
async function startRendering(): Promise<string> {
  service.engines.conduct({ polls: 1 })
  const id = await service.submit()
  await service.drive(id, ({ status }) => status === 'in_progress')
  return id
}

const picturesOf = (on: PipelineApp, from: number) =>
  on.engines.requests.slice(from).filter(({ body }) => body.includes('image_url')).length

/** Runs `use` with the engine's verdict on pictures: those of this file come from finished clips alone. */
async function withVerdict<T>(on: PipelineApp, flagged: (text: string) => boolean, use: () => Promise<T>): Promise<T> {
  const { moderation } = on.engines.answers
  on.engines.answers.moderation = ({ input }) => {
    const is = flagged(JSON.stringify(input))
    return { flagged: is, categories: { sexual: is }, category_applied_input_types: { sexual: ['text', 'image'] } }
  }
  try {
    return await use()
  } finally {
    on.engines.answers.moderation = moderation
  }
}

async function recordsOf(on: PipelineApp, job_id: string) {
  const { rows } = await on.app.database.pool.query(
    'select stage, verdict, categories, file_sha256s, unjudged from moderation_records where job_id = $1 order by created_at, id',
    [job_id],
  )
  return rows
}

test('a clip that is allowed completes its job, and the record names the clip and that its sound was not judged', async () => {
  const [from, before] = [service.engines.requests.length, await service.balance()]
  const job = await service.drive(await service.submit())
  assert.equal(job.status, 'completed')
  frames = picturesOf(service, from)
  assert.ok(frames >= 4 && frames <= 16, `${frames} pictures`)
  assert.deepEqual((await recordsOf(service, job.id)).at(-1), {
    stage: 'output',
    verdict: 'allow',
    categories: [],
    file_sha256s: [job.output_sha256],
    unjudged: [{ file_sha256: job.output_sha256, part: 'sound' }],
  })
  assert.equal((await service.balance()).charges, before.charges + 1)
})

test('without the setting no clip is judged', async () => {
  const from = unchecked.engines.requests.length
  const job = await unchecked.drive(await unchecked.submit())
  assert.equal(job.status, 'completed')
  assert.equal(picturesOf(unchecked, from), 0)
  assert.deepEqual(
    (await recordsOf(unchecked, job.id)).map(({ stage }) => stage),
    ['prompt'],
  )
})

test('a clip that is blocked fails its job with the fixed text; it is not charged and nothing of it is kept', async () => {
  const [stored, before] = [await service.stored(), await service.balance()]
  const id = await service.submit()
  const job = await withVerdict(
    service,
    (input) => input.includes('image_url'),
    () => service.drive(id),
  )
  assert.deepEqual([job.error_code, job.error_message], ['moderation_blocked', FAILURES.moderation_blocked])
  assert.deepEqual(await service.statuses(id), ['moderating', 'translating', 'queued', 'in_progress', 'failed'])
  assert.deepEqual([job.blob_key, await service.stored()], [null, stored])
  assert.deepEqual(await service.balance(), before)
  const record = (await recordsOf(service, id)).at(-1)
  assert.deepEqual([record.stage, record.verdict, record.categories], ['output', 'block', ['sexual']])
  assert.match(record.file_sha256s[0], /^[0-9a-f]{64}$/)
})

test('what is said in a clip is judged where sound can be transcribed, and the record has nothing unjudged', async () => {
  const job = await hearing.drive(await hearing.submit())
  assert.deepEqual((await recordsOf(hearing, job.id)).at(-1).unjudged, [])
  const { transcription } = hearing.engines.answers
  hearing.engines.answers.transcription = () => 'something forbidden is said'
  const blocked = await hearing.drive(await hearing.submit())
  hearing.engines.answers.transcription = transcription
  assert.equal(blocked.error_code, 'moderation_blocked')
})

test('moderation that does not answer about a clip is asked three times, then the job fails closed and is not charged', async () => {
  const [stored, before] = [await service.stored(), await service.balance()]
  const id = await startRendering()
  // Failed polls before do not count as tries.
  service.engines.script({ method: 'GET', times: 4, fault: { kind: 'status', status: 503 } })
  service.engines.script({ path: '/v1/moderations', times: 999, fault: { kind: 'status', status: 503 } })
  const from = service.engines.requests.length
  const job = await service.drive(id)
  assert.equal(job.error_code, 'moderation_unavailable')
  const asked = service.engines.requests.slice(from)
  assert.equal(asked.filter(({ path }) => path.endsWith('/content')).length, 3)
  assert.equal(service.engines.started(), service.engines.renders.size, 'rendered once')
  assert.deepEqual([job.blob_key, await service.stored()], [null, stored])
  assert.deepEqual(await service.balance(), before)
})

test('moderation that answers again in time completes the job, and asks only about what was not allowed yet', async () => {
  const id = await startRendering()
  const from = service.engines.requests.length
  service.engines.script({ path: '/v1/moderations', times: 2, fault: { kind: 'reset' } })
  const job = await service.drive(id)
  assert.equal(job.status, 'completed')
  assert.equal(picturesOf(service, from), frames + 2)
})

for (const point of ['output_judged', 'output_published', 'before_completed', 'within_completed']) {
  test(`a process that dies at ${point} judges nothing twice, and the job is charged once`, async () => {
    const before = await service.balance()
    const id = await startRendering()
    const from = service.engines.requests.length
    let died = false
    armFailpoint(point, () => {
      died = true
      throw Object.assign(new Error('killed'), { code: '57P01' })
    })
    const job = await service.drive(id).catch(async () => {
      await videoClaims.releaseAllBut(service.app.ctx.db, [])
      return service.drive(id)
    })
    assert.ok(died)
    assert.equal(job.status, 'completed')
    assert.equal(picturesOf(service, from), frames)
    assert.equal((await recordsOf(service, id)).filter(({ stage }) => stage === 'output').length, 1)
    const { balance, charges } = await service.balance()
    assert.deepEqual([balance, charges], [before.balance - COST, before.charges + 1])
  })
}
