import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'

const CONFIG = `
plans:
  free: { chat_models: [plain, org/deep-model, "a/b:c"] }
  full: {}
  none: { chat_models: [] }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
chat_models:
  - id: plain
    engine: sandbox
    price_per_million: { input: "1", output: "2" }
  - id: org/deep-model
    name: Deep
    description: Thinks first.
    engine: sandbox
    created: 1790000000
    shutdown_date: 2027-06-30
    context_length: 131072
    max_output_tokens: 16384
    capabilities: [vision, video, audio, tools, reasoning, structured_outputs, logprobs]
    reasoning_efforts: [low, medium, high]
    default_reasoning_effort: medium
    extra_params: [verbosity]
    hash_user: true
    price_per_million: { input: "1.25", cached_input: "0.05", output: "2" }
  - { id: "a/b:c", engine: sandbox, price_per_million: { input: "1", output: "2" } }
  - { id: paid, engine: sandbox, price_per_million: { input: "1", output: "2" } }
`

const PRICING = {
  input_per_million: '1.00000000',
  cached_input_per_million: '1.00000000',
  output_per_million: '2.00000000',
  currency: 'usd',
}
const PLAIN = {
  id: 'plain',
  object: 'model',
  created: 0,
  owned_by: 'organization',
  name: 'plain',
  description: '',
  test_model: true,
  ...{
    context_length: null,
    max_output_tokens: null,
    capabilities: [],
    reasoning_efforts: [],
    default_reasoning_effort: null,
  },
  pricing: PRICING,
}
const DEEP = {
  id: 'org/deep-model',
  object: 'model',
  created: 1_790_000_000,
  owned_by: 'organization',
  name: 'Deep',
  shutdown_date: '2027-06-30',
  test_model: true,
  description: 'Thinks first.',
  context_length: 131_072,
  max_output_tokens: 16_384,
  capabilities: ['vision', 'video', 'audio', 'tools', 'reasoning', 'structured_outputs', 'logprobs'],
  reasoning_efforts: ['low', 'medium', 'high'],
  default_reasoning_effort: 'medium',
  pricing: { ...PRICING, input_per_million: '1.25000000', cached_input_per_million: '0.05000000' },
}

let app: TestApp
let person: TestPerson
let full: TestPerson
let none: TestPerson
before(async () => {
  app = await startApp({ config: CONFIG })
  person = await newCustomer(app)
  full = await onPlan('full')
  none = await onPlan('none')
})
after(() => app.close())

test('200 with exactly the published members of each model of the plan, in the order of the configuration', async () => {
  const { status, body } = await read(person, '/v1/models')
  assert.equal(status, 200)
  assert.deepEqual(body, { object: 'list', data: [PLAIN, DEEP, { ...PLAIN, id: 'a/b:c', name: 'a/b:c' }] })
})

test('200 with what the plan includes: all, or nothing; video models never', async () => {
  const ids = async (who: TestPerson) =>
    (await read(who, '/v1/models')).body.data.map((model: { id: string }) => model.id)
  assert.deepEqual(await ids(full), ['plain', 'org/deep-model', 'a/b:c', 'paid'])
  assert.deepEqual(await ids(none), [])
  assert.deepEqual(
    (await read(full, '/v1/videos/models')).body.data.map((model: { id: string }) => model.id),
    ['instant-1'],
  )
})

test('200 for one model, its slashes and colons raw or percent-encoded, with or without a trailing slash', async () => {
  assert.deepEqual((await read(person, '/v1/models/plain')).body, PLAIN)
  for (const path of ['org/deep-model', 'org%2Fdeep-model', 'org%2fdeep%2Dmodel', 'org/deep-model/']) {
    assert.deepEqual((await read(person, `/v1/models/${path}`)).body, DEEP, path)
  }
  for (const path of ['a/b:c', 'a%2Fb%3Ac', 'a/b%3ac']) {
    assert.equal((await read(person, `/v1/models/${path}`)).body.id, 'a/b:c', path)
  }
  const session = await send(app, 'GET', '/v1/models/plain', { cookie: person.cookie })
  assert.deepEqual([session.status, session.body], [200, PLAIN])
})

test('404 model_not_found for what does not exist, what the plan lacks and what makes video, alike but for the name', async () => {
  const unknown = [
    'nothing',
    'paid',
    'instant-1',
    'org',
    'deep-model',
    'org/deep-model/x',
    'PLAIN',
    'plain%20',
    'org%252Fdeep-model',
    'constructor',
  ]
  for (const id of unknown) {
    const { status, body } = await read(person, `/v1/models/${id}`)
    const message = `The model '${decodeURIComponent(id)}' does not exist or your plan does not include it. List models with GET /v1/models.`
    assert.equal(status, 404, id)
    assert.deepEqual(body, {
      error: { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
    })
  }
  assert.equal((await read(full, '/v1/models/paid')).status, 200)
})

test('404 both ways: a video model cannot chat, and a chat model makes no video', async () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  for (const model of ['instant-1', 'paid', 'nothing']) {
    const { status, body } = await send(app, 'POST', '/v1/chat/completions', { key: person.key }, { model, messages })
    assert.deepEqual([status, body.error.code, body.error.param], [404, 'model_not_found', 'model'])
  }
  const job = { model: 'plain', prompt: 'A boat', seconds: 4, aspect_ratio: '16:9' }
  const { status, body } = await send(app, 'POST', '/v1/videos', { key: person.key }, job)
  assert.deepEqual([status, body.error.code, body.error.param], [404, 'model_not_found', 'model'])
  const slashed = await send(
    app,
    'POST',
    '/v1/chat/completions',
    { key: person.key },
    { model: 'org/deep-model', messages },
  )
  assert.deepEqual([slashed.status, slashed.body.model], [200, 'org/deep-model'])
})

test('401 without a key, 405 for other methods', async () => {
  for (const path of ['/v1/models', '/v1/models/plain']) {
    assert.equal((await send(app, 'GET', path)).status, 401)
    assert.equal((await send(app, 'DELETE', path, { key: person.key })).status, 405)
    assert.equal(
      (await fetch(app.url + path, { method: 'HEAD', headers: { authorization: `Bearer ${person.key}` } })).status,
      200,
    )
  }
})

function read(who: TestPerson, path: string) {
  return send(app, 'GET', path, { key: who.key })
}

async function onPlan(plan: string): Promise<TestPerson> {
  const customer = await newCustomer(app)
  await app.database.pool.query('update organizations set plan = $1 where id = $2', [plan, customer.org_id])
  return customer
}
