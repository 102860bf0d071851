import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { samplePicture } from '../support/data/media.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { storedFile } from '../support/http/videos-app.ts'

const CONFIG = `
plans:
  free: { max_concurrent_renders: 8 }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
`
const PROMPT = 'A paper boat. <d>行こう！</d>'

let app: TestApp
let person: TestPerson
let client: OpenAI
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
  client = clientOf(person)
})
after(() => app.close())

test('openai: a job is created from an uploaded picture, read until it is completed, downloaded and deleted', async () => {
  const picture = await toFile(await samplePicture('png'), 'boat.png')
  const file = await client.files.create({ file: picture, purpose: 'vision' })
  const image_reference = [{ role: 'first_frame', file_id: file.id }]
  const created = await create(client, { prompt: PROMPT, image_reference })
  assert.deepEqual(
    [created.status, created.progress, created.object, Number(created.seconds)],
    ['moderating', 0, 'video', 4],
  )
  assert.equal(created.prompt, PROMPT)
  await app.tick()
  const done = await client.videos.retrieve(created.id)
  assert.deepEqual([done.status, done.progress, done.error], ['completed', 100, null])
  const clip = await client.videos.downloadContent(done.id)
  assert.equal(clip.headers.get('content-type'), 'video/mp4')
  const bytes = Buffer.from(await clip.arrayBuffer())
  assert.equal(bytes.subarray(4, 8).toString(), 'ftyp')
  assert.equal(bytes.length, Number(clip.headers.get('content-length')))
  for (const [variant, type] of [
    ['thumbnail', 'image/webp'],
    ['spritesheet', 'image/jpeg'],
  ] as const) {
    const picture = await client.videos.downloadContent(done.id, { variant })
    assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, type])
    await picture.arrayBuffer()
  }
  assert.deepEqual({ ...(await client.videos.delete(done.id)) }, { id: done.id, object: 'video', deleted: true })
  await assert.rejects(client.videos.retrieve(done.id), OpenAI.NotFoundError)
  assert.equal((await client.files.retrieve(file.id)).id, file.id)
})

test('openai: frames and references of each kind travel in the order given, and a prompt keeps its line breaks', async () => {
  const plain = await create(client, { seconds: 8, prompt: 'ボート「やあ」\r\n<d>Ahoy</d>' })
  assert.deepEqual(
    [Number(plain.seconds), plain.prompt, plain.status],
    [8, 'ボート「やあ」\r\n<d>Ahoy</d>', 'moderating'],
  )
  const [a, b, c] = [await storedFile(app, person), await storedFile(app, person), await storedFile(app, person)]
  const framed = await create(client, {
    image_reference: [
      { file_id: a, role: 'last_frame' },
      { file_id: b, role: 'first_frame' },
    ],
  })
  assert.deepEqual(await inputsOf(framed.id), [
    ['last_frame', a],
    ['first_frame', b],
  ])
  const video = await storedFile(app, person, { purpose: 'video' })
  const audio = await storedFile(app, person, { purpose: 'audio' })
  const images = [{ file_id: a }, { file_id: b }, { file_id: c }]
  const references = { images, videos: [{ file_id: video }], audio: [{ file_id: audio }] }
  const referred = await create(client, { references })
  assert.deepEqual(await inputsOf(referred.id), [
    ...[a, b, c].map((id) => ['reference_image', id]),
    ['reference_video', video],
    ['reference_audio', audio],
  ])
  await app.tick()
})

test('openai: references travel as its multipart form has them, and as JSON', async () => {
  const upload = async (name: string) =>
    client.files.create({ file: await toFile(await samplePicture('jpeg'), name), purpose: 'vision' })
  const images = [{ file_id: (await upload('one.jpg')).id }, { file_id: (await upload('two.jpg')).id }]
  const form = await create(client, { prompt: 'Two pictures', references: { images } })
  const body = { model: 'instant-1', prompt: 'Two pictures', seconds: 4, aspect_ratio: '16:9', references: { images } }
  const json = await client.post<{ id: string }>('/videos', { body })
  const inputs = await inputsOf(form.id)
  assert.deepEqual(inputs, await inputsOf(json.id))
  assert.deepEqual(
    inputs,
    images.map(({ file_id }) => ['reference_image', file_id]),
  )
  await app.tick()
})

test('openai: the list pages by itself through every job, newest first and oldest first', async () => {
  const customer = await newCustomer(app)
  const own = clientOf(customer)
  const made: string[] = []
  for (let i = 0; i < 5; i++) made.push((await create(own, { prompt: `Job ${i}` })).id)
  const seen = async (order: 'asc' | 'desc') => {
    const ids: string[] = []
    for await (const video of own.videos.list({ limit: 2, order })) ids.push(video.id)
    return ids
  }
  assert.deepEqual(await seen('asc'), made)
  assert.deepEqual(await seen('desc'), [...made].reverse())
})

test('openai: refusals arrive as its typed errors with code, param and request id', async () => {
  const refused = async (call: Promise<unknown>, type: abstract new (...args: never[]) => Error, facts: unknown[]) => {
    await assert.rejects(call, (error: InstanceType<typeof OpenAI.APIError>) => {
      assert.ok(error instanceof type, `${error.constructor.name} ${error.message}`)
      assert.deepEqual([error.status, error.code, error.param, error.type], facts)
      assert.match(error.requestID!, /^req_/)
      return true
    })
  }
  const invalid = 'invalid_request_error'
  await refused(create(client, { seconds: 16 }), OpenAI.BadRequestError, [400, invalid, 'seconds', invalid])
  await refused(create(client, { size: '1280x720' }), OpenAI.BadRequestError, [400, invalid, 'size', invalid])
  await refused(create(client, { model: 'nobody' }), OpenAI.NotFoundError, [404, 'model_not_found', 'model', invalid])
  const unknown = new OpenAI({ apiKey: `kin_${'0'.repeat(36)}`, baseURL: `${app.url}/v1` })
  await refused(create(unknown, {}), OpenAI.AuthenticationError, [401, 'invalid_api_key', null, 'authentication_error'])
  const unagreed = clientOf(await newColleague(app, person.org_id, { agreed: false }))
  await refused(create(unagreed, {}), OpenAI.PermissionDeniedError, [
    403,
    'agreement_required',
    null,
    'permission_error',
  ])
  const poor = clientOf(await newCustomer(app, { balance: 1n }))
  await refused(create(poor, {}), OpenAI.APIError, [402, 'insufficient_credits', null, 'insufficient_quota'])
  const { id } = await create(client, {})
  await refused(client.videos.delete(id), OpenAI.ConflictError, [409, 'conflict', null, invalid])
  const reused = { headers: { 'Idempotency-Key': 'one-key' } }
  await create(client, {}, reused)
  await refused(create(client, { prompt: 'another' }, reused), OpenAI.UnprocessableEntityError, [
    422,
    'idempotency_key_reused',
    'Idempotency-Key',
    invalid,
  ])
})

test('openai: the client does not retry errors that waiting cannot fix, and a repeated key gives the same job', async () => {
  const customer = await newCustomer(app)
  const asked: string[] = []
  const fetchCounted: typeof fetch = (input, init) => {
    asked.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`)
    return fetch(input, init)
  }
  const own = new OpenAI({ apiKey: customer.key, baseURL: `${app.url}/v1`, fetch: fetchCounted })
  const headers = { 'Idempotency-Key': 'the-same' }
  const first = await create(own, {}, { headers })
  const again = await create(own, {}, { headers })
  assert.equal(again.id, first.id)
  for (let i = 1; i < 8; i++) await create(own, {})
  asked.length = 0
  await assert.rejects(create(own, {}), OpenAI.RateLimitError)
  await assert.rejects(own.videos.delete(first.id), OpenAI.ConflictError)
  assert.deepEqual(asked, ['POST /v1/videos', `DELETE /v1/videos/${first.id}`])
})

async function inputsOf(id: string) {
  const { db } = app.database
  const job = await db.selectFrom('video_jobs').select('inputs').where('id', '=', id).executeTakeFirstOrThrow()
  return job.inputs.map(({ role, file_id }) => [role, file_id])
}

function clientOf({ key }: TestPerson): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 2 })
}

/** `seconds` is a number and `aspect_ratio` ours: the types of the client know neither. */
function create(own: OpenAI, changes: object, options?: OpenAI.RequestOptions): Promise<OpenAI.Videos.Video> {
  const body = { model: 'instant-1', prompt: 'A paper boat', seconds: 4, aspect_ratio: '16:9', ...changes }
  return own.videos.create(body as unknown as OpenAI.Videos.VideoCreateParams, options)
}
