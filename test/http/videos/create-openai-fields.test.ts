import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import OpenAI, { toFile } from 'openai'
import { enterChild, isChildQueueFull } from '../../../server/media/children/concurrency-limit.ts'
import type { VideoView } from '../../../server/videos/schema.ts'
import { samplePicture, turnedPhoto } from '../../support/data/media.ts'
import {
  INSTANT_CONFIG,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { multipart } from '../../support/http/raw-http.ts'
import { assertInvalid, jobsOf, sendRaw, storedFile, submit } from '../../support/http/videos-app.ts'

/** Port 9 is never asked: nothing here gets as far as a render. */
const CONFIG = `${INSTANT_CONFIG}
  - { id: wide-1, per_second: "0.01", engine: { kind: videos-api, dialect: openai, base_url: "http://127.0.0.1:9", model: m, inputs: [], ratios: ['16:9'] } }
`

let app: TestApp
let person: TestPerson
let client: OpenAI
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
  client = new OpenAI({ apiKey: person.key, baseURL: `${app.url}/v1`, maxRetries: 0 })
})
after(() => app.close())

/** Exactly as the types of the client have it, without a cast. */
async function refusalOf(changes: Partial<OpenAI.VideoCreateParams>): Promise<{ param: unknown; message: string }> {
  const body = { model: 'instant-1', prompt: 'A paper boat', seconds: '4', ...changes } as OpenAI.VideoCreateParams
  try {
    await client.videos.create(body)
  } catch (error) {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.equal(error.code, 'invalid_request_error')
    return { param: error.param, message: (error.error as { message: string }).message }
  }
  return assert.fail('nothing was refused')
}

/** A job as OpenAI's client asks for it. */
function created(changes: Partial<OpenAI.VideoCreateParams>) {
  const body = { model: 'instant-1', prompt: 'A paper boat', ...changes } as OpenAI.VideoCreateParams
  // biome-ignore lint/suspicious/noExplicitAny: the client's type lacks what our answer has.
  return client.videos.create(body) as Promise<any>
}

/** What the job says it was submitted with, which the client does not know. */
function imagesOf(video: object) {
  return (video as VideoView).image_reference!
}

async function framesOf(id: string) {
  const { inputs } = await app.database.db
    .selectFrom('video_jobs')
    .select('inputs')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return inputs.map(({ role, file_id, sha256 }) => ({ role, file_id, sha256 }))
}

const filesOf = async () => (await client.files.list()).data

test('200 for the shape of OpenAI: each of its sizes is a ratio, and seconds may be text', async () => {
  const cases: Array<[size: string, ratio: string]> = [
    ['1280x720', '16:9'],
    ['720x1280', '9:16'],
    ['1792x1024', '16:9'],
    ['1024x1792', '9:16'],
  ]
  for (const [size, ratio] of cases) {
    const form = await created({ size: size as OpenAI.VideoSize, seconds: '8' })
    const json = await sendRaw(
      app,
      person,
      JSON.stringify({ model: 'instant-1', prompt: 'A boat', size, seconds: '8' }),
    )
    for (const job of [form, json.body])
      assert.deepEqual([job.aspect_ratio, job.seconds, 'size' in job], [ratio, 8, false], JSON.stringify(job))
  }
  const plain = await created({ size: '1280x720' })
  assert.deepEqual([plain.seconds, plain.cost], [4, '0.04000000'])
})

test('200 for input_reference: an uploaded picture, or a picture in the form, is the first frame', async () => {
  const picture = await samplePicture('png')
  const uploaded = await client.files.create({ file: await toFile(picture, 'a.png'), purpose: 'vision' })
  const by_id = { model: 'instant-1', prompt: 'A boat', seconds: 4, input_reference: { file_id: uploaded.id } }
  const named = await sendRaw(app, person, JSON.stringify(by_id))
  assert.equal(named.status, 200, named.text)
  const [frame] = await framesOf(named.body.id)
  assert.deepEqual([frame!.role, frame!.file_id, named.body.aspect_ratio], ['first_frame', uploaded.id, '9:16'])
  const sent = await created({ size: '1280x720', input_reference: await toFile(picture, 'boat.png') })
  const [own] = await framesOf(sent.id)
  assert.deepEqual([own!.role, own!.sha256], ['first_frame', frame!.sha256])
  assert.deepEqual(imagesOf(named.body), [{ file_id: uploaded.id, role: 'first_frame' }])
  assert.deepEqual(imagesOf(sent), [{ file_id: own!.file_id, role: 'first_frame' }])
  const file = (await filesOf()).find(({ id }) => id === own!.file_id)!
  assert.deepEqual([file.purpose, file.filename], ['vision', 'boat.png'])
})

test('a form with a picture is replayed by its bytes, and leaves no file when it is replayed or refused', async () => {
  const picture = await samplePicture('webp')
  const before = (await filesOf()).length
  const submitted = async (key: string, changes: object = {}) => {
    const body = { model: 'instant-1', prompt: 'A boat', size: '1280x720', ...changes } as OpenAI.VideoCreateParams
    const form = { ...body, input_reference: await toFile(picture, 'boat.webp') }
    return client.videos.create(form, { headers: { 'Idempotency-Key': key } })
  }
  const first = await submitted('k1')
  assert.deepEqual(await submitted('k1'), first)
  assert.equal(imagesOf(first).length, 1)
  await assert.rejects(submitted('k1', { seconds: '8' }), { status: 422 })
  await assert.rejects(submitted('k2', { seconds: '3' }), { status: 400, param: 'seconds' })
  await assert.rejects(submitted('k3', { model: 'nothing' }), { status: 404 })
  await assert.rejects(submitted('k4', { references: { images: [{ file_id: 'file-1' }] } }), {
    status: 400,
    param: 'input_reference',
  })
  const poor = new OpenAI({
    apiKey: (await newCustomer(app, { balance: 1n })).key,
    baseURL: `${app.url}/v1`,
    maxRetries: 0,
  })
  const body = { model: 'instant-1', prompt: 'A boat', size: '1280x720' } as OpenAI.VideoCreateParams
  await assert.rejects(poor.videos.create({ ...body, input_reference: await toFile(picture, 'a.webp') }), {
    status: 402,
  })
  assert.deepEqual((await poor.files.list()).data, [])
  assert.equal((await filesOf()).length, before + 1)
})

test('400 for a size that OpenAI does not have names its sizes, and the ratio nearest to it', async () => {
  for (const [size, hint] of [
    ['1024x1024', ": '1:1' for 1024x1024."],
    ['1024x768', ": '4:3' for 1024x768."],
    ['large', ", such as '16:9'."],
  ]) {
    const sizes = "Supported values are: '720x1280', '1280x720', '1024x1792', and '1792x1024'."
    const message = `Invalid value: '${size}'. ${sizes} Or send aspect_ratio in place of size${hint}`
    assert.deepEqual(await refusalOf({ size: size as OpenAI.VideoSize }), { param: 'size', message })
  }
})

test('400 for input_reference by URL, of a missing file, or of bytes that are no picture', async () => {
  const body = { model: 'instant-1', prompt: 'A boat', seconds: 4 }
  const sent = (input_reference: unknown) => sendRaw(app, person, JSON.stringify({ ...body, input_reference }))
  for (const wrong of ['https://example.com/a.png', { image_url: 'https://example.com/a.png' }, { file_id: 7 }, []])
    assertInvalid(await sent(wrong), 'input_reference', /send the picture as a file/)
  assertInvalid(await sent({ file_id: 'file-1' }), 'input_reference.file_id', /does not exist/)
  const noise = await refusalOf({ input_reference: await toFile(Buffer.from('hello'), 'a.png') })
  assert.equal(noise.param, 'input_reference')
})

test('400 for size and input_reference beside aspect_ratio: a body of our own shape names what to send instead', async () => {
  const both = await submit(app, person, { size: '1280x720' })
  assertInvalid(both, 'size', "Unknown parameter: 'size'. Send aspect_ratio instead: '16:9' for 1280x720.")
  for (const size of ['large', '0x0', 720, '1e3x2', '9'.repeat(400)]) {
    const answer = await submit(app, person, { size })
    assertInvalid(answer, 'size', "Unknown parameter: 'size'. Send aspect_ratio instead, such as '16:9'.")
  }
  const picture = await toFile(await samplePicture('png'), 'boat.png')
  const file = await refusalOf({ input_reference: picture, aspect_ratio: '16:9' } as object)
  assert.equal(file.param, 'input_reference')
  assert.match(file.message, /is a file.*POST \/v1\/files.*image_reference.*first_frame/)
  const answer = await submit(app, person, { input_reference: { file_id: 'file-1' } })
  assertInvalid(
    answer,
    'input_reference',
    /^Unknown parameter: 'input_reference'\. Send image_reference instead.*first_frame/,
  )
})

test('400 names the members that the client sent, those of OpenAI or ours', async () => {
  const sent = (changes: object) =>
    sendRaw(app, person, JSON.stringify({ model: 'wide-1', prompt: 'A boat', seconds: 4, ...changes }))
  const [size, file_id] = ['1280x720', await storedFile(app, person)]
  const remedy = 'Choose another model or leave it out.'
  assertInvalid(await sent({ size: '720x1280' }), 'size', `The model 'wide-1' cannot take the size 720x1280. ${remedy}`)
  const first_frame = `The model 'wide-1' cannot take a first frame alone. ${remedy}`
  assertInvalid(await sent({ size, input_reference: { file_id } }), 'input_reference', first_frame)
  const image_reference = [{ file_id, role: 'first_frame' }]
  assertInvalid(await sent({ size, image_reference }), 'image_reference', first_frame)
  const empty = await sent({ size, input_reference: { file_id: '' } })
  assertInvalid(empty, 'input_reference.file_id', /^Invalid 'input_reference\.file_id'/)
})

test('400 for seconds as text in JSON says to send a number, and which', async () => {
  const text = JSON.stringify(videoBody({ seconds: '8' }))
  const wrong = "Invalid type for 'seconds': expected an integer, but got a string instead."
  assertInvalid(await sendRaw(app, person, text), 'seconds', `${wrong} Send a number without quotation marks: 8.`)
  for (const seconds of ['eight', '', '9'.repeat(300)]) {
    assertInvalid(await submit(app, person, { seconds }), 'seconds', `${wrong} Send a whole number from 4 to 15.`)
  }
})

test('400 names the first problem only: what is wrong before size comes first', async () => {
  const body = { prompt: 'A paper boat', seconds: 4, size: '1280x720', aspect_ratio: '16:9' }
  assertInvalid(await sendRaw(app, person, JSON.stringify(body)), 'model', "Missing required parameter: 'model'.")
})

test('the inspection of a frame ends when its client leaves, and leaves no file and no job', async () => {
  const before = [(await filesOf()).length, await jobsOf(app, person.org_id)]
  const [gone, one] = [new AbortController(), new AbortController()]
  const others: Array<Promise<() => void>> = []
  while (!isChildQueueFull('moderation'))
    others.push(enterChild('moderation', { signal: (others.length === 10 ? one : gone).signal }).catch(() => () => {}))
  one.abort(new Error('one place'))
  const frame = { name: 'input_reference', filename: 'a.jpg', type: 'image/jpeg', body: await turnedPhoto() }
  const { body, type } = multipart([{ name: 'model', body: 'instant-1' }, { name: 'prompt', body: 'A boat' }, frame])
  const left = new AbortController()
  const headers = { authorization: `Bearer ${person.key}`, 'content-type': type }
  const request = fetch(`${app.url}/v1/videos`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
    signal: left.signal,
  })
  while (!isChildQueueFull('moderation')) await nextTurn()
  left.abort(new Error('left'))
  await assert.rejects(request, /left/)
  while (isChildQueueFull('moderation')) await nextTurn()
  gone.abort(new Error('gone'))
  for (const leave of await Promise.all(others)) leave()
  assert.deepEqual([(await filesOf()).length, await jobsOf(app, person.org_id)], before)
})
