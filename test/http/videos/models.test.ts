import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ASPECT_RATIOS } from '../../../server/engines/video/contract.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { browserOf } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, assertRefused, storedFile, submit } from '../../support/http/videos-app.ts'

/** Port 9 is never asked: nothing here gets as far as a render. */
const CONFIG = `
currency: eur
plans:
  free: { max_concurrent_renders: 1000, video_models: [frames-1, full-1] }
  all: { max_concurrent_renders: 1000 }
  none: { video_models: [] }
video_models:
  - { id: full-1, name: Full, description: Takes everything., engine: instant, per_second: "0.123456" }
  - { id: hidden-1, engine: instant, per_second: "1" }
  - { id: maker/slash-1, engine: instant, per_second: "1" }
  - { id: frames-1, per_second: "0.000001", engine: { kind: videos-api, dialect: openai, base_url: "http://127.0.0.1:9", model: m, inputs: [first_frame], seconds: [4, 12], ratios: ['16:9', '9:16'] } }
`

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
})
after(() => app.close())

const models = () => send(app, 'GET', '/v1/videos/models', { key: person.key })
test('200 with the models of the plan, in the order of the configuration, each with its price', async () => {
  const { status, body } = await models()
  assert.equal(status, 200)
  const price = (per_second: string) => [{ resolution: '768p', per_second, currency: 'eur' }]
  assert.deepEqual(body, {
    object: 'list',
    data: [
      {
        id: 'full-1',
        object: 'video_model',
        name: 'Full',
        description: 'Takes everything.',
        pricing: price('0.123456'),
        inputs: ['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio'],
        references_max: { images: 8, videos: 2, audio: 3, files: 13 },
        seconds: { min: 4, max: 15 },
        aspect_ratios: [...ASPECT_RATIOS],
        cancel: 'any',
      },
      {
        id: 'frames-1',
        object: 'video_model',
        name: 'frames-1',
        description: '',
        pricing: price('0.000001'),
        inputs: ['first_frame'],
        references_max: { images: 0, videos: 0, audio: 0, files: 0 },
        seconds: { min: 4, max: 12 },
        aspect_ratios: ['16:9', '9:16'],
        cancel: 'any',
      },
    ],
  })
})

test('200 with one model of the plan, also when its id holds a slash; 404 for one of another plan and for an unknown one', async () => {
  const { body } = await models()
  const one = (id: string) => send(app, 'GET', `/v1/videos/models/${id}`, { key: person.key })
  for (const entry of body.data) assert.deepEqual((await one(entry.id)).body, entry)
  const everything = await newCustomer(app)
  await app.database.pool.query("update organizations set plan = 'all' where id = $1", [everything.org_id])
  const { cookie } = await browserOf(app, everything)
  for (const id of ['maker/slash-1', 'maker%2Fslash-1']) {
    const answer = await send(app, 'GET', `/v1/videos/models/${id}`, { cookie })
    assert.deepEqual([answer.status, answer.body.id], [200, 'maker/slash-1'])
  }
  for (const id of ['hidden-1', 'nothing', 'full-1/content']) {
    assertRefused(await one(id), { status: 404, code: 'model_not_found', param: 'model' })
  }
})

test('the quote is price times seconds, exact to the last digit', async () => {
  const cost = async (model: string, seconds: number) => (await submit(app, person, { model, seconds })).body.cost
  assert.equal(await cost('full-1', 7), '0.86419200')
  assert.equal(await cost('full-1', 15), '1.85184000')
  assert.equal(await cost('frames-1', 4), '0.00000400')
})

test('400 with the field as param for what the engine of a model does not accept', async () => {
  const file_id = await storedFile(app, person)
  const model = 'frames-1'
  const first = { file_id, role: 'first_frame' }
  const last = { file_id: await storedFile(app, person), role: 'last_frame' }
  assert.equal((await submit(app, person, { model, image_reference: [first] })).status, 200)
  assertInvalid(
    await submit(app, person, { model, image_reference: [last] }),
    'image_reference',
    /cannot take a last frame alone/,
  )
  assertInvalid(
    await submit(app, person, { model, image_reference: [first, last] }),
    'image_reference',
    /both a first and a last frame/,
  )
  assertInvalid(
    await submit(app, person, { model, references: { images: [{ file_id }] } }),
    'references',
    /cannot take references/,
  )
})

test('a model of another plan is not listed, and its 404 is that of an unknown one', async () => {
  const { body } = await models()
  assert.ok(!body.data.some(({ id }: { id: string }) => id === 'hidden-1'))
  const refused = await submit(app, person, { model: 'hidden-1' })
  assertRefused(refused, { status: 404, code: 'model_not_found', param: 'model' })
  const unknown = await submit(app, person, { model: 'hidden-2' })
  assert.equal(refused.body.error.message.replace('hidden-1', 'hidden-2'), unknown.body.error.message)
})

test('a plan decides for every organization on it; one that was removed from the configuration gives access to nothing', async () => {
  const expected = { all: ['full-1', 'hidden-1', 'maker/slash-1', 'frames-1'], none: [], gone: [] }
  for (const [plan, ids] of Object.entries(expected)) {
    const customer = await newCustomer(app)
    await app.database.pool.query('update organizations set plan = $1 where id = $2', [plan, customer.org_id])
    // Callers are kept in memory for five seconds; a console login made now has not been seen yet.
    const { cookie } = await browserOf(app, customer)
    const { body } = await send(app, 'GET', '/v1/videos/models', { cookie })
    assert.deepEqual(
      body.data.map(({ id }: { id: string }) => id),
      ids,
      plan,
    )
    if (plan !== 'all') assert.equal((await submit(app, { cookie }, { model: 'full-1' })).status, 404)
  }
})
