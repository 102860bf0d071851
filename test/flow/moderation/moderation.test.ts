import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { FAILURES } from '../../../server/videos/job.ts'
import { samplePicture } from '../../support/data/media.ts'
import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import { OPENING, type PipelineApp, startPipelineApp, upload } from '../pipeline-app.ts'

const OPENAI = '{ kind: openai-moderations, base_url: "{engines}", timeout_seconds: 1 }'
const GUARD = '{ kind: chat-guard, format: llama-guard, model: guard, base_url: "{engines}", timeout_seconds: 1 }'

let service: PipelineApp
let guarded: PipelineApp
before(async () => {
  service = await startPipelineApp({ moderation: OPENAI })
  guarded = await startPipelineApp({ moderation: GUARD })
})
after(() => Promise.all([service.close(), guarded.close()]))
afterEach(async () => {
  for (const each of [service, guarded]) {
    each.engines.unscript()
    each.engines.release()
    assert.deepEqual(await each.app.audit(), {})
    assert.deepEqual(await each.balance(), { balance: OPENING, held: 0n, running: 0, charges: 0 })
    assert.equal(each.engines.started(), 0, 'nothing of this file reaches a video engine')
  }
})

test('a prompt that violates the policy fails from moderating with the fixed text, whatever the prompt says', async () => {
  for (const prompt of ['forbidden', 'Something else that is forbidden <d>forbidden</d>']) {
    const id = await service.submit({ prompt })
    const job = await service.drive(id)
    assert.deepEqual([job.error_code, job.error_message], ['moderation_blocked', FAILURES.moderation_blocked])
    assert.deepEqual(await service.statuses(id), ['moderating', 'failed'])
  }
})

test('a picture is judged before it may be used', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const { moderation } = service.engines.answers
  service.engines.answers.moderation = ({ input }) => {
    const flagged = JSON.stringify(input).includes('image_url')
    return {
      flagged,
      categories: { sexual: flagged },
      category_scores: {},
      category_applied_input_types: { sexual: ['image'] },
    }
  }
  const job = await service.drive(await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] }))
  service.engines.answers.moderation = moderation
  assert.equal(job.error_code, 'moderation_blocked')
})

test('a picture that cannot be judged fails the job closed, though its prompt was allowed', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const { moderation } = service.engines.answers
  service.engines.answers.moderation = (asked) =>
    JSON.stringify(asked.input).includes('image_url') ? {} : moderation(asked)
  const asked = service.engines.requests.length
  const job = await service.drive(await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] }))
  service.engines.answers.moderation = moderation
  assert.equal(job.error_code, 'moderation_unavailable')
  const pictures = service.engines.requests.slice(asked).filter(({ body }) => body.includes('image_url'))
  assert.equal(pictures.length, 3)
})

test('a finished clip that is blocked, or cannot be judged, fails its job closed and is not charged', async (t) => {
  const judged = await startPipelineApp({ moderation: OPENAI, moderation_more: 'output: true' })
  t.after(() => judged.close())
  const { moderation } = judged.engines.answers
  const flagged = { flagged: true, categories: { sexual: true }, category_applied_input_types: { sexual: ['image'] } }
  for (const [answer, code] of [
    [flagged, 'moderation_blocked'],
    [{}, 'moderation_unavailable'],
  ] as const) {
    judged.engines.answers.moderation = (asked) =>
      JSON.stringify(asked.input).includes('image_url') ? answer : moderation(asked)
    const job = await judged.drive(await judged.submit())
    assert.deepEqual([job.error_code, job.blob_key], [code, null])
  }
  assert.equal(judged.engines.renders.size, 2)
  assert.deepEqual(await judged.balance(), { balance: OPENING, held: 0n, running: 0, charges: 0 })
})

test('moderation that does not answer is called three times within a minute, then the job fails closed', async () => {
  const asked = service.engines.requests.length
  const begun = service.app.clock.now().getTime()
  service.engines.script({ path: '/v1/moderations', times: 2, fault: { kind: 'status', status: 503 } })
  const id = await service.submit({ prompt: 'forbidden' })
  assert.equal((await service.drive(id)).error_code, 'moderation_blocked')
  assert.equal(service.engines.requests.length - asked, 3, 'the third answer still counts')

  service.engines.script({ path: '/v1/moderations', times: 99, fault: { kind: 'status', status: 503 } })
  const job = await service.drive(await service.submit())
  assert.equal(job.error_code, 'moderation_unavailable')
  assert.equal(service.engines.requests.length - asked, 6)
  assert.ok(service.app.clock.now().getTime() - begun <= 2 * 60_000)
})

const answer = (body: unknown): Fault => ({ kind: 'status', status: 200, body: body as object })
const results = (result: unknown) => answer({ model: 'm', results: [result] })
const verdictText = (content: unknown, finish_reason = 'stop') =>
  answer({ choices: [{ finish_reason, message: { content } }] })
const status = (code: number): Fault => ({ kind: 'status', status: code, body: { flagged: false, results: [] } })

test('a guard model blocks with the first word of its answer, at once and with the fixed text, whatever follows', async () => {
  const answers = ['unsafe S9', 'unsafe\nS99', 'UNSAFE', 'unsafe\nS9\nThe request asks for a recipe.']
  for (const fault of [...answers.map((text) => verdictText(text)), verdictText('unsafe\nS1,S2,S', 'length')]) {
    guarded.engines.script({ path: '/v1/chat/completions', fault })
    const asked = guarded.engines.requests.length
    const job = await guarded.drive(await guarded.submit())
    assert.deepEqual([job.error_code, job.error_message], ['moderation_blocked', FAILURES.moderation_blocked])
    assert.equal(guarded.engines.requests.length - asked, 1)
  }
})

/** Faults of any server; then those of the form of its answer. */
const TRANSPORT: Record<string, Fault> = {
  'connection reset': { kind: 'reset' },
  'reply lost': { kind: 'lost_reply' },
  'no answer': { kind: 'stall' },
  'body cut': { kind: 'cut' },
  'length wrong': { kind: 'wrong_length' },
  'not HTTP': { kind: 'garbage' },
  'gzip bomb': { kind: 'gzip_bomb' },
  'sixteen megabytes': { kind: 'giant_line' },
  '204': status(204),
  redirect: { kind: 'status', status: 302, headers: { location: '/v1/elsewhere' } },
  '400': status(400),
  '401': status(401),
  '404': status(404),
  '429': status(429),
  '500': status(500),
  '503': status(503),
  'empty body': { kind: 'status', status: 200 },
  HTML: { kind: 'status', status: 200, body: '<html>safe</html>' },
  null: { kind: 'status', status: 200, body: 'null', headers: { 'content-type': 'application/json' } },
  list: answer([]),
  object: answer({}),
}
const MODERATIONS: Record<string, Fault> = {
  'no result': answer({ results: [] }),
  'two results': answer({
    results: [
      { flagged: false, categories: { a: false } },
      { flagged: false, categories: { a: false } },
    ],
  }),
  'empty result': results({}),
  'verdict as text': results({ flagged: 'false', categories: { a: false } }),
  'verdict as number': results({ flagged: 0, categories: { a: false } }),
  'no categories': results({ flagged: false }),
  'empty categories': results({ flagged: false, categories: {} }),
  'category as text': results({ flagged: false, categories: { a: 'no' } }),
  'verdict null': results({ flagged: null, categories: { a: false } }),
}
const GUARDS: Record<string, Fault> = {
  'no choices': answer({ choices: [] }),
  'no text': verdictText(null),
  'empty text': verdictText(''),
  'cut answer': verdictText('safe', 'length'),
  'refused answer': verdictText('safe', 'content_filter'),
  chatter: verdictText('I believe this request is perfectly safe.'),
  'two verdicts': verdictText('safe\nunsafe\nS1'),
  'almost safe': verdictText('safety'),
  'another word': verdictText('allow'),
}

for (const [name, path, faults] of [
  ['openai-moderations', '/v1/moderations', { ...TRANSPORT, ...MODERATIONS }],
  ['chat-guard', '/v1/chat/completions', { ...TRANSPORT, ...GUARDS }],
] as const) {
  test(`${name}: ${Object.keys(faults).length} kinds of fault, none passes as allow, each is tried three times`, async () => {
    const on = name === 'chat-guard' ? guarded : service
    for (const [fault_name, fault] of Object.entries(faults)) {
      on.engines.script({ path, times: 3, fault })
      const asked = on.engines.requests.length
      const job = await on.drive(await on.submit())
      assert.equal(job.error_code, 'moderation_unavailable', fault_name)
      assert.equal(on.engines.requests.length - asked, 3, fault_name)
      on.engines.release()
    }
  })
}
