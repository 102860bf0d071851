import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { article, typed } from './rows/make-rows.ts'
import { PARAMETER_ROWS } from './rows/parameter-rows.ts'

const MODELS = [
  { id: 'm', reasoning_efforts: ['low', 'anything'] },
  { id: 'small', capabilities: [], max_output_tokens: 100 },
  { id: 'deep', reasoning_efforts: ['low', 'high'] },
]

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

for (const { name, takes, refuses, beside = {} } of PARAMETER_ROWS) {
  test(`400 for ${refuses.length} values of ${name}, before the model is asked`, async () => {
    for (const [value, code, message, param = name] of refuses) {
      assertRefused(await service.chat({ ...beside, [name]: value }), { code, message, param })
    }
    assert.equal(service.upstream.requests.length, 0)
  })

  test(`200 for ${takes.length} values of ${name}, and for null, which is as good as absent`, async () => {
    for (const value of [...takes, null]) {
      const answer = await service.askedFor({ ...beside, [name]: value })
      assert.equal(answer.status, 200, `${JSON.stringify(value)}: ${JSON.stringify(answer.body)}`)
    }
    const [bare, withNull] = [await service.askedFor(beside), await service.askedFor({ ...beside, [name]: null })]
    assert.deepEqual(withNull.asked, bare.asked)
  })
}

test('400 when model or messages are absent, null, empty or of a wrong type', async () => {
  const short = (name: string, kind: string) =>
    `Invalid '${name}': ${kind} too short. Expected ${article(kind)} with minimum length 1, but got ${article(kind)} with length 0 instead.`
  const cases: Array<[changes: Record<string, unknown>, code: string, message: string, param: string]> = [
    [{ model: undefined }, 'missing_required_parameter', "Missing required parameter: 'model'.", 'model'],
    [{ model: null }, 'invalid_type', typed('model', 'a string', 'null'), 'model'],
    [{ model: 4 }, 'invalid_type', typed('model', 'a string', 'an integer'), 'model'],
    [{ model: '' }, 'string_below_min_length', short('model', 'string'), 'model'],
    [{ messages: undefined }, 'missing_required_parameter', "Missing required parameter: 'messages'.", 'messages'],
    [{ messages: null }, 'invalid_type', typed('messages', 'an array', 'null'), 'messages'],
    [{ messages: 'Hi' }, 'invalid_type', typed('messages', 'an array', 'a string'), 'messages'],
    [{ messages: [] }, 'array_below_min_length', short('messages', 'array'), 'messages'],
  ]
  for (const [changes, code, message, param] of cases)
    assertRefused(await service.chat(changes), { code, message, param })
  assert.equal(service.upstream.requests.length, 0)
})

test('404 with the same message for a model that does not exist and for a video model', async () => {
  for (const model of ['nothing', 'instant-1', 'M', 'm ', 'x'.repeat(256)]) {
    const { status, body } = await service.chat({ model })
    assert.equal(status, 404)
    assert.deepEqual(
      [body.error.code, body.error.param, body.error.type],
      ['model_not_found', 'model', 'invalid_request_error'],
    )
  }
  assert.equal(service.upstream.requests.length, 0)
})

test('400 names an unsupported feature, unless it is null', async () => {
  for (const param of ['audio', 'functions', 'function_call', 'web_search_options']) {
    const message = `Unsupported parameter: '${param}' is not supported.`
    for (const value of [param === 'functions' ? { x: 1 } : {}, ['x'], 'required', false]) {
      assertRefused(await service.chat({ [param]: value }), { code: 'unsupported_parameter', message, param })
    }
    assert.equal((await service.chat({ [param]: null })).status, 200)
  }
})

test('200 for functions that are none, as old clients say it, and for a tool without parameters, as PHP writes it', async () => {
  for (const none of [
    ...[{ functions: [] }, { functions: {} }, { function_call: 'none' }],
    { functions: [], function_call: 'auto' },
  ]) {
    const { status, asked } = await service.askedFor(none)
    assert.deepEqual([status, 'functions' in asked, 'function_call' in asked], [200, false, false])
  }
  const given = [[], { type: 'object', properties: [] }, { properties: { a: { properties: [], required: [] } } }]
  const wanted = [{}, { type: 'object', properties: {} }, { properties: { a: { properties: {}, required: [] } } }]
  for (const [i, parameters] of given.entries()) {
    const { asked } = await service.askedFor({ tools: [{ type: 'function', function: { name: 'look', parameters } }] })
    assert.deepEqual(asked.tools[0].function.parameters, wanted[i])
  }
})

test('200 for 0 top_logprobs without logprobs, which asks for none; 400 for more', async () => {
  for (const more of [{}, { logprobs: false }]) {
    const { status, asked } = await service.askedFor({ top_logprobs: 0, ...more })
    assert.deepEqual([status, 'top_logprobs' in asked], [200, false])
  }
  const message = "'top_logprobs' is only allowed when 'logprobs' is true."
  assertRefused(await service.chat({ top_logprobs: 1 }), { code: 'invalid_value', message, param: 'top_logprobs' })
})

test('400 for a body of the other API names its endpoint', async () => {
  const { app, person } = service
  const asks = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
  const responded = await send(app, 'POST', '/v1/responses', { key: person.key }, asks)
  const message = "Missing required parameter: 'input'. A body with 'messages' belongs to POST /v1/chat/completions."
  assertRefused(responded, { code: 'missing_required_parameter', message, param: 'input' })
  assertRefused(await service.chat({ messages: undefined, input: 'Hi' }), {
    code: 'missing_required_parameter',
    message: "Missing required parameter: 'messages'. A body with 'input' belongs to POST /v1/responses.",
    param: 'messages',
  })
})

test('400 for what the model’s capabilities or limits exclude, before it is asked', async () => {
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const response_format = { type: 'json_schema', json_schema: { name: 'n', schema: {} } }
  const lacks = (what: string) => `The model 'small' does not take ${what}. GET /v1/models lists what each model takes.`
  const above = (name: string) =>
    `Invalid '${name}': integer above maximum value. Expected a value <= 100, but got 101 instead.`
  const cases: Array<[changes: Record<string, unknown>, code: string, message: string, param: string]> = [
    [{ tools }, 'model_capability_mismatch', lacks('tools'), 'tools'],
    [{ response_format }, 'model_capability_mismatch', lacks('a JSON schema'), 'response_format'],
    [{ logprobs: true }, 'model_capability_mismatch', lacks('log probabilities'), 'logprobs'],
    [{ max_tokens: 101 }, 'integer_above_max_value', above('max_tokens'), 'max_tokens'],
    [
      { max_completion_tokens: 101 },
      'integer_above_max_value',
      above('max_completion_tokens'),
      'max_completion_tokens',
    ],
    [
      { reasoning_effort: 'low' },
      'unsupported_value',
      "Unsupported value: 'reasoning_effort' does not support 'low' with this model. Leave it out: this model does not reason.",
      'reasoning_effort',
    ],
  ]
  for (const [changes, code, message, param] of cases) {
    assertRefused(await service.chat({ model: 'small', ...changes }), { code, message, param })
  }
  const unlisted =
    "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low' and 'high'."
  const found = await service.chat({ model: 'deep', reasoning_effort: 'xhigh' })
  assertRefused(found, { code: 'unsupported_value', message: unlisted, param: 'reasoning_effort' })
  assert.equal(service.upstream.requests.length, 0)
})

test('400 for a name or an id that cannot be stored, nesting over 64 levels, and numbers that JSON cannot represent', async () => {
  const { app, person } = service
  const raw = (text: string) => send(app, 'POST', '/v1/chat/completions', { key: person.key }, Buffer.from(text))
  const body = (content: string, more = '') =>
    `{"model":"m","messages":[{"role":"user","content":"${content}"}]${more}}`
  for (const text of ['a\\u0000', '\\ud83c', 'x\\udfac']) {
    const { status, body: answer } = await raw(body('Hi', `,"user":"${text}"`))
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, 'invalid_value', 'user'])
  }
  const deep = await raw(body('Hi', `,"x":${'['.repeat(100)}${']'.repeat(100)}`))
  assert.deepEqual([deep.status, deep.body.error.code], [400, 'invalid_value'])
  for (const number of ['1e400', '-1e400']) {
    assertRefused(await raw(body('Hi', `,"temperature":${number}`)), {
      code: 'invalid_type',
      message: typed('temperature', 'a number', 'a decimal number'),
      param: 'temperature',
    })
  }
  assert.equal((await raw(body('Hi', ',"n":1.0'))).status, 200)
  for (const text of ['{"model":', '', '{}}', '\ufeff{}']) {
    const { status, body: answer } = await raw(text)
    assert.equal(status, 400, text)
    assert.equal(answer.error.type, 'invalid_request_error')
  }
})

test('law: a refused request is not charged', async () => {
  const balance = async () =>
    (await send(service.app, 'GET', '/console/balance', { cookie: service.person.cookie })).body.balance
  const had = await balance()
  for (const changes of [{ temperature: 3 }, { model: 'nothing' }, { functions: ['x'] }]) await service.chat(changes)
  assert.equal(await balance(), had)
  assert.deepEqual(await service.app.audit(), {})
})

function assertRefused(answer: HttpResponse, expected: { code: string; message: string; param: string }): void {
  const { status, body } = answer
  assert.equal(status, 400, JSON.stringify(body))
  assert.deepEqual(body, { error: { type: 'invalid_request_error', ...expected } }, JSON.stringify(body))
}
