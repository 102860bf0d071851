import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { EXTRA_PARAMS } from '../../../server/config/file.ts'
import { article, PARAMETER_ROWS, typed } from '../../support/data/chat-parameter-rows.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type Answer, send } from '../../support/http/identity-app.ts'

const MODELS = [
  { id: 'm', reasoning_efforts: ['low', 'anything'] },
  { id: 'small', capabilities: [], max_output_tokens: 100 },
  { id: 'plain', engine: { max_tokens_field: 'max_tokens' } },
  { id: 'deep', reasoning_efforts: ['low', 'high'], default_reasoning_effort: 'low' },
  { id: 'open', extra_params: [...EXTRA_PARAMS] },
  { id: 'private', extra_params: ['safety_identifier'], hash_user: true },
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
      const answer = await asked({ ...beside, [name]: value })
      assert.equal(answer.status, 200, `${JSON.stringify(value)}: ${JSON.stringify(answer.body)}`)
    }
    const [bare, withNull] = [await asked(beside), await asked({ ...beside, [name]: null })]
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
    for (const value of [{}, [], 'auto', false]) {
      assertRefused(await service.chat({ [param]: value }), { code: 'unsupported_parameter', message, param })
    }
    assert.equal((await service.chat({ [param]: null })).status, 200)
  }
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

const FORWARDED = {
  ...{ temperature: 0, top_p: 1, top_k: 40, min_p: 0.1, repetition_penalty: 1.1, frequency_penalty: -2 },
  ...{ presence_penalty: 2, seed: -7, logprobs: true, top_logprobs: 20, logit_bias: { 7: -100 }, n: 2, user: 'u-1' },
  ...{ parallel_tool_calls: false, tool_choice: 'none', reasoning_effort: 'low' },
}
const TOOL = {
  type: 'function',
  function: { name: 'look', description: 'd', parameters: { type: 'object' }, strict: true },
}
const FORMAT = {
  type: 'json_schema',
  json_schema: { name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
}

test('the model server gets exactly the members listed here: unknown members at any depth are dropped', async () => {
  const bent = <T extends object>(value: T) => ({
    ...value,
    api_base: 'http://127.0.0.1',
    headers: { authorization: 'x' },
  })
  const { asked: request } = await asked({
    ...bent({
      ...FORWARDED,
      max_tokens: 9,
      stop: ['a', 'b'],
      metadata: { k: 'v' },
      store: true,
      prediction: {},
      verbosity: 'low',
    }),
    ...{
      base_url: 'http://127.0.0.1',
      api_key: 'x',
      stream_format: 'raw',
      ignore_eos: true,
      min_tokens: 5,
      best_of: 9,
      extra_body: { a: 1 },
    },
    tools: [bent({ type: 'function', function: bent(TOOL.function) })],
    response_format: bent({ type: 'json_schema', json_schema: bent(FORMAT.json_schema) }),
    messages: [
      bent({
        role: 'user',
        name: 'ann',
        content: [bent({ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } })],
      }),
      bent({
        role: 'assistant',
        content: 'Hm',
        tool_calls: [bent({ id: 'c', type: 'function', function: bent({ name: 'look', arguments: '{}' }) })],
      }),
      bent({ role: 'tool', tool_call_id: 'c', name: 'look', content: 'Yes' }),
    ],
  })
  assert.deepEqual(request, {
    model: 'upstream/m',
    messages: [
      { role: 'user', name: 'ann', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: 'Hm',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'Yes' },
    ],
    stream: request.stream,
    ...(request.stream ? { stream_options: { include_usage: true } } : {}),
    ...FORWARDED,
    ...{ max_completion_tokens: 9, stop: ['a', 'b'], tools: [TOOL], response_format: FORMAT },
  })
})

test('a member that the client omits is omitted upstream', async () => {
  const { asked: request } = await asked({})
  const { stream, stream_options, ...rest } = request
  assert.deepEqual(rest, { model: 'upstream/m', messages: [{ role: 'user', content: 'Hi' }] })
  assert.deepEqual(stream_options, stream ? { include_usage: true } : undefined)
  // A choice among no tools, a plain text format and one answer are what the model server does anyway.
  const idle = await asked({
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    response_format: { type: 'text' },
    n: 1,
    modalities: ['text'],
  })
  assert.deepEqual(idle.asked, request)
})

test('max_completion_tokens takes precedence over max_tokens; both are sent under the name the model server knows', async () => {
  const limits = async (changes: Record<string, unknown>) => {
    const { asked: request } = await asked(changes)
    return [request.max_tokens, request.max_completion_tokens]
  }
  assert.deepEqual(await limits({ max_tokens: 5 }), [undefined, 5])
  assert.deepEqual(await limits({ max_tokens: 5, max_completion_tokens: 7 }), [undefined, 7])
  assert.deepEqual(await limits({ max_tokens: 7, max_completion_tokens: 5 }), [undefined, 5])
  assert.deepEqual(await limits({ max_tokens: 5, max_completion_tokens: null }), [undefined, 5])
  assert.deepEqual(await limits({ model: 'plain', max_tokens: 5, max_completion_tokens: 7 }), [7, undefined])
  // The limit the model publishes holds where the client sets none.
  assert.deepEqual(await limits({ model: 'small' }), [undefined, 100])
})

test('a model has the default effort of its entry, which a client may override', async () => {
  assert.equal((await asked({ model: 'deep' })).asked.reasoning_effort, 'low')
  assert.equal((await asked({ model: 'deep', reasoning_effort: null })).asked.reasoning_effort, 'low')
  assert.equal((await asked({ model: 'deep', reasoning_effort: 'high' })).asked.reasoning_effort, 'high')
})

const EXTRA: Record<(typeof EXTRA_PARAMS)[number], unknown> = {
  metadata: { k: 'v' },
  service_tier: 'flex',
  prompt_cache_key: 'key',
  prompt_cache_retention: '24h',
  safety_identifier: 'person-1',
  moderation: { model: 'omni-moderation-latest' },
  verbosity: 'low',
  prediction: { type: 'content', content: 'x' },
  min_tokens: 2,
  stop_token_ids: [1, 2],
  ignore_eos: true,
  length_penalty: 1.5,
  skip_special_tokens: false,
  include_stop_str_in_output: true,
  chat_template_kwargs: { enable_thinking: false },
  mm_processor_kwargs: { num_crops: 4 },
  structured_outputs: { choice: ['a', 'b'] },
  include_reasoning: false,
}

test('each extra parameter is sent unchanged to models whose entry lists it, and to no other', async () => {
  const bare = (await asked({ model: 'open' })).asked
  for (const [name, value] of Object.entries(EXTRA)) {
    const { asked: request } = await asked({ model: 'open', [name]: value })
    assert.deepEqual(request, { ...bare, [name]: value }, name)
    assert.equal(Object.hasOwn((await asked({ [name]: value })).asked, name), false, name)
    assert.equal(Object.hasOwn((await asked({ model: 'open', [name]: null })).asked, name), false, name)
  }
})

test('user and safety_identifier are sent as stable keyed hashes when so configured', async () => {
  const ann = (await asked({ model: 'private', user: 'ann', safety_identifier: 'ann' })).asked
  const again = (await asked({ model: 'private', user: 'ann' })).asked
  const bob = (await asked({ model: 'private', user: 'bob' })).asked
  assert.match(ann.user, /^[0-9a-f]{32}$/)
  assert.equal(ann.safety_identifier, ann.user)
  assert.equal(again.user, ann.user)
  assert.notEqual(bob.user, ann.user)
  assert.equal((await asked({ user: 'ann' })).asked.user, 'ann')
})

test('400 for text that cannot be stored, nesting over 64 levels, and numbers that JSON cannot represent', async () => {
  const raw = async (text: string): Promise<Answer> => {
    const headers = { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' }
    const response = await fetch(`${service.app.url}/v1/chat/completions`, { method: 'POST', headers, body: text })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const body = (content: string, more = '') =>
    `{"model":"m","messages":[{"role":"user","content":"${content}"}]${more}}`
  for (const text of ['a\\u0000', '\\ud83c', 'x\\udfac']) {
    const { status, body: answer } = await raw(body(text))
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, 'invalid_value', 'messages[0].content'])
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
  for (const changes of [{ temperature: 3 }, { model: 'nothing' }, { functions: [] }]) await service.chat(changes)
  assert.equal(await balance(), had)
  assert.deepEqual(await service.app.audit(), {})
})

/** The answer, and what the model server was asked for it. A streamed answer is drained. */
async function asked(changes: Record<string, unknown>) {
  service.upstream.requests.splice(0)
  const streams = changes.stream === true
  const answer = streams ? await drained(changes) : await service.chat(changes)
  return { ...answer, asked: service.asked() ?? {} }
}

async function drained(changes: Record<string, unknown>): Promise<{ status: number; body: string }> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...changes })
  const headers = { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' }
  const response = await fetch(`${service.app.url}/v1/chat/completions`, { method: 'POST', headers, body })
  return { status: response.status, body: await response.text() }
}

function assertRefused(answer: Answer, expected: { code: string; message: string; param: string }): void {
  const { status, body } = answer
  assert.equal(status, 400, JSON.stringify(body))
  assert.deepEqual(body, { error: { type: 'invalid_request_error', ...expected } }, JSON.stringify(body))
}
