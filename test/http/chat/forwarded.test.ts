import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EXTRA_PARAMS } from '../../../server/config/models.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'

const MODELS = [
  { id: 'm', reasoning_efforts: ['low'] },
  { id: 'small', capabilities: [], max_output_tokens: 100 },
  { id: 'plain', engine: { max_tokens_field: 'max_tokens' } },
  { id: 'picky', engine: { accepts: ['top_k', 'frequency_penalty'] } },
  { id: 'deep', reasoning_efforts: ['low', 'high'], default_reasoning_effort: 'low' },
  { id: 'open', extra_params: [...EXTRA_PARAMS] },
  { id: 'private', extra_params: ['safety_identifier'], hash_user: true },
]

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())

const FORWARDED = {
  temperature: 0,
  top_p: 1,
  top_k: 40,
  min_p: 0.1,
  repetition_penalty: 1.1,
  frequency_penalty: -2,
  presence_penalty: 2,
  seed: -7,
  logprobs: true,
  top_logprobs: 20,
  logit_bias: { 7: -100 },
  n: 2,
  user: 'u-1',
  parallel_tool_calls: false,
  tool_choice: 'none',
  reasoning_effort: 'low',
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
  const { asked: request } = await service.askedFor({
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
    max_completion_tokens: 9,
    stop: ['a', 'b'],
    tools: [TOOL],
    response_format: FORMAT,
  })
})

test('a member that the client omits is omitted upstream', async () => {
  const { asked: request } = await service.askedFor({})
  const { stream, stream_options, ...rest } = request
  assert.deepEqual(rest, { model: 'upstream/m', messages: [{ role: 'user', content: 'Hi' }] })
  assert.deepEqual(stream_options, stream ? { include_usage: true } : undefined)
  // A choice among no tools, a plain text format and one answer are what the model server does anyway.
  const idle = await service.askedFor({
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
    const { asked: request } = await service.askedFor(changes)
    return [request.max_tokens, request.max_completion_tokens]
  }
  assert.deepEqual(await limits({ max_tokens: 5 }), [undefined, 5])
  assert.deepEqual(await limits({ max_tokens: 5, max_completion_tokens: 7 }), [undefined, 7])
  assert.deepEqual(await limits({ max_tokens: 7, max_completion_tokens: 5 }), [undefined, 5])
  assert.deepEqual(await limits({ max_tokens: 5, max_completion_tokens: null }), [undefined, 5])
  assert.deepEqual(await limits({ max_tokens: -1 }), [undefined, undefined])
  assert.deepEqual(await limits({ max_tokens: 5, max_completion_tokens: -1 }), [undefined, 5])
  assert.deepEqual(await limits({ model: 'plain', max_tokens: 5, max_completion_tokens: 7 }), [7, undefined])
  // The limit the model publishes holds where the client sets none.
  assert.deepEqual(await limits({ model: 'small' }), [undefined, 100])
})

test('a server gets only those of top_k, min_p and repetition_penalty that it accepts, whatever their value', async () => {
  const { stream, stream_options, ...bare } = (await service.askedFor({ model: 'picky' })).asked
  const sampling = { temperature: 0.5, top_p: 1, top_k: 0, frequency_penalty: 0 }
  const {
    stream: _,
    stream_options: __,
    ...asked
  } = (
    await service.askedFor({ model: 'picky', ...sampling, min_p: 0.1, repetition_penalty: 1.1, presence_penalty: 0 })
  ).asked
  assert.deepEqual(asked, { ...bare, ...sampling })
})

test('a model has the default effort of its entry, which a client may override', async () => {
  assert.equal((await service.askedFor({ model: 'deep' })).asked.reasoning_effort, 'low')
  assert.equal((await service.askedFor({ model: 'deep', reasoning_effort: null })).asked.reasoning_effort, 'low')
  assert.equal((await service.askedFor({ model: 'deep', reasoning_effort: 'high' })).asked.reasoning_effort, 'high')
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
  const bare = (await service.askedFor({ model: 'open' })).asked
  for (const [name, value] of Object.entries(EXTRA)) {
    const { asked: request } = await service.askedFor({ model: 'open', [name]: value })
    assert.deepEqual(request, { ...bare, [name]: value }, name)
    assert.equal(Object.hasOwn((await service.askedFor({ [name]: value })).asked, name), false, name)
    assert.equal(Object.hasOwn((await service.askedFor({ model: 'open', [name]: null })).asked, name), false, name)
  }
})

test('user and safety_identifier are sent as stable keyed hashes when so configured', async () => {
  const ann = (await service.askedFor({ model: 'private', user: 'ann', safety_identifier: 'ann' })).asked
  const again = (await service.askedFor({ model: 'private', user: 'ann' })).asked
  const bob = (await service.askedFor({ model: 'private', user: 'bob' })).asked
  assert.match(ann.user, /^[0-9a-f]{32}$/)
  assert.equal(ann.safety_identifier, ann.user)
  assert.equal(again.user, ann.user)
  assert.notEqual(bob.user, ann.user)
  assert.equal((await service.askedFor({ user: 'ann' })).asked.user, 'ann')
})
