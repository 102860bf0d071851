import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'

const MODELS = [
  { id: 'm', reasoning_efforts: ['low', 'high'] },
  { id: 'plain', capabilities: [] },
  { id: 'short', max_output_tokens: 100, default_reasoning_effort: 'low' },
  { id: 'private', extra_params: ['safety_identifier', 'prompt_cache_key', 'verbosity', 'metadata'], hash_user: true },
]

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const look = { type: 'function', name: 'look', description: 'Looks', parameters: { type: 'object' }, strict: true }
const format = { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true, description: 'd' }

test('200: the model server gets every parameter under its name there, and nothing else', async () => {
  const named = { temperature: 0.5, top_p: 0.25, frequency_penalty: -1, presence_penalty: 1, seed: 7, top_k: 3 }
  const asked = await forwarded({
    ...named,
    repetition_penalty: 1.5,
    stop: 'END',
    max_output_tokens: 50,
    parallel_tool_calls: false,
    user: 'ann',
    include: ['message.output_text.logprobs'],
    top_logprobs: 2,
    tools: [look],
    tool_choice: 'required',
    reasoning: { effort: 'high', summary: 'auto', mode: 'x' },
    text: { format, verbosity: 'low' },
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    safety_identifier: 's',
    service_tier: 'flex',
    truncation: 'auto',
    max_tool_calls: 2,
    client_metadata: {},
    moderation: {},
    image: 1,
    api_base: 'http://evil.example',
    headers: { a: 'b' },
    extra_body: { n: 5 },
    n: 5,
    logit_bias: { 1: 1 },
  })
  const { type, ...json_schema } = format
  const { type: kind, ...called } = look
  assert.deepEqual(asked, {
    ...named,
    // With log probabilities an answer is long, and comes in pieces.
    model: 'upstream/m',
    stream: true,
    stream_options: { include_usage: true },
    repetition_penalty: 1.5,
    stop: ['END'],
    max_completion_tokens: 50,
    user: 'ann',
    logprobs: true,
    top_logprobs: 2,
    reasoning_effort: 'high',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    response_format: { type, json_schema },
    tools: [{ type: kind, function: called }],
    tool_choice: 'required',
    parallel_tool_calls: false,
  })
})

test('200: null, empty objects, and empty arrays and texts where there can be none are the same as absent', async () => {
  const nulls = ['instructions', 'stream', 'temperature', 'max_output_tokens', 'tools', 'tool_choice', 'text', 'stop']
  const more = [
    'reasoning',
    'include',
    'metadata',
    'conversation',
    'prompt',
    'context_management',
    'truncation',
    'user',
  ]
  const bare = { model: 'upstream/m', stream: false, messages: [{ role: 'user', content: 'Hi' }] }
  assert.deepEqual(await forwarded(Object.fromEntries([...nulls, ...more].map((name) => [name, null]))), bare)
  assert.deepEqual(await forwarded({ text: {}, reasoning: {}, include: [], metadata: {}, tools: [], stop: [] }), bare)
  assert.deepEqual(
    await forwarded({ text: [], reasoning: [], metadata: [], stream_options: [], tool_choice: [] }),
    bare,
  )
  assert.deepEqual(
    await forwarded({ text: { format: [], verbosity: '' }, reasoning: { effort: '', summary: '' } }),
    bare,
  )
  assert.deepEqual(await forwarded({ truncation: '', tool_choice: '', previous_response_id: '', stop: [''] }), bare)
  assert.deepEqual(
    await forwarded({ text: { format: { type: 'text' }, verbosity: null }, reasoning: { effort: null } }),
    bare,
  )
})

test('200: log probabilities are requested from the model server only when they are included', async () => {
  const asked = await forwarded({ top_logprobs: 3 })
  assert.deepEqual([asked.logprobs, asked.top_logprobs], [undefined, undefined])
})

test('200: a model that does not reason gets no reasoning parameters; a default effort is sent', async () => {
  assert.equal(
    (await forwarded({ model: 'plain', reasoning: { effort: 'medium', summary: 'auto' } })).reasoning_effort,
    undefined,
  )
  const asked = await forwarded({ model: 'short', reasoning: { effort: 'xhigh' } })
  assert.deepEqual([asked.reasoning_effort, asked.max_completion_tokens], ['low', 100])
})

test('200: members that the model’s configuration passes on are sent, the user as a hash if configured', async () => {
  const given = { safety_identifier: 's', prompt_cache_key: 'k', text: { verbosity: 'low' }, metadata: { a: 'b' } }
  const asked = await forwarded({ model: 'private', ...given, user: 'ann', service_tier: 'flex' })
  assert.deepEqual([asked.prompt_cache_key, asked.verbosity, asked.metadata], ['k', 'low', { a: 'b' }])
  for (const hashed of [asked.user, asked.safety_identifier]) assert.match(hashed, /^[0-9a-f]{32}$/)
  assert.equal(asked.service_tier, undefined)
})

test('200: x-dropped-tools names the types of tools that are not forwarded', async () => {
  const answer = await respond({ tools: [{ type: 'web_search' }, look, { type: 'mcp', server_url: 'x' }] })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('x-dropped-tools'), 'web_search, mcp')
  assert.deepEqual(answer.body.tools, [look])
  assert.equal(service.asked().tools.length, 1)
  const none = await respond({ tools: [{ type: 'web_search' }] })
  assert.deepEqual([none.status, none.body.tools, service.asked().tools], [200, [], undefined])
})

const typed = (name: string, expected: string, got: string) =>
  `Invalid type for '${name}': expected ${expected}, but got ${got} instead.`
const above = (name: string, kind: string, max: number, got: number) =>
  `Invalid '${name}': ${kind} above maximum value. Expected a value <= ${max}, but got ${got} instead.`
const below = (name: string, kind: string, min: number, got: number) =>
  `Invalid '${name}': ${kind} below minimum value. Expected a value >= ${min}, but got ${got} instead.`
const longer = (name: string, kind: string, max: number, got: number) =>
  `Invalid '${name}': array too long. Expected ${kind} with maximum length ${max}, but got ${kind} with length ${got} instead.`
const unsupported = (name: string) => `Unsupported parameter: '${name}' is not supported.`
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

/** A refusal: what is sent beside model and input, its code, its message, and its path where that is not the one member sent. */
const REFUSED: Array<[body: Record<string, unknown>, code: string, message: string | RegExp, param?: string]> = [
  [{ model: undefined }, 'missing_required_parameter', "Missing required parameter: 'model'."],
  [{ model: 7 }, 'invalid_type', typed('model', 'a string', 'an integer')],
  [{ input: undefined }, 'missing_required_parameter', "Missing required parameter: 'input'."],
  [{ input: null }, 'missing_required_parameter', "Missing required parameter: 'input'."],
  [
    { input: [] },
    'array_below_min_length',
    /^Invalid 'input': array too short\. Expected an array with minimum length 1/,
  ],
  [{ input: 7 }, 'invalid_type', typed('input', 'a string or an array', 'an integer')],
  [{ temperature: 2.5 }, 'decimal_above_max_value', above('temperature', 'decimal', 2, 2.5)],
  [{ temperature: '1' }, 'invalid_type', typed('temperature', 'a number', 'a string')],
  [{ top_p: -0.1 }, 'decimal_below_min_value', below('top_p', 'decimal', 0, -0.1)],
  [{ presence_penalty: 3 }, 'decimal_above_max_value', above('presence_penalty', 'decimal', 2, 3)],
  [{ top_logprobs: 21 }, 'integer_above_max_value', above('top_logprobs', 'integer', 20, 21)],
  [{ max_output_tokens: 0 }, 'integer_below_min_value', below('max_output_tokens', 'integer', 1, 0)],
  [{ max_output_tokens: 1.5 }, 'invalid_type', typed('max_output_tokens', 'an integer', 'a decimal number')],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'array_above_max_length', longer('stop', 'an array', 4, 5)],
  [{ repetition_penalty: 0 }, 'decimal_below_min_value', /Expected a value > 0/],
  [{ stream: 'yes' }, 'invalid_type', typed('stream', 'a boolean', 'a string')],
  [{ truncation: 'middle' }, 'invalid_value', "Invalid value: 'middle'. Supported values are: 'auto' and 'disabled'."],
  [{ include: ['everything'] }, 'invalid_value', /^Invalid value: 'everything'\. Supported values are: /, 'include[0]'],
  [{ metadata: pairs(17) }, 'object_above_max_properties', /at most 16 properties/],
  [{ metadata: { k: 'v'.repeat(513) } }, 'string_above_max_length', /maximum length 512/, 'metadata.k'],
  [{ metadata: { k: 7 } }, 'invalid_type', typed('metadata.k', 'a string', 'an integer'), 'metadata.k'],
  [{ metadata: { ['k'.repeat(65)]: 'v' } }, 'invalid_value', /1 to 64 characters/],
  [{ conversation: 'conv_1' }, 'unsupported_parameter', unsupported('conversation')],
  [{ prompt: { id: 'p' } }, 'unsupported_parameter', unsupported('prompt')],
  [{ context_management: [] }, 'unsupported_parameter', unsupported('context_management')],
  [{ background: true, store: false }, 'invalid_value', /needs the response to be stored/, 'background'],
  [
    { text: { format: { type: 'xml' } } },
    'invalid_value',
    /'text', 'json_object', and 'json_schema'/,
    'text.format.type',
  ],
  [{ text: { format: { ...format, name: 'a b' } } }, 'invalid_value', /pattern/, 'text.format.name'],
  [
    { text: { format: { type: 'json_schema', name: 'n' } } },
    ...(['missing_required_parameter', /./, 'text.format.schema'] as const),
  ],
  [{ text: { verbosity: 'huge' } }, 'invalid_value', /'low', 'medium', and 'high'/, 'text.verbosity'],
  [{ reasoning: { summary: 'long' } }, 'invalid_value', /'auto', 'concise', and 'detailed'/, 'reasoning.summary'],
  [
    { reasoning: { effort: 'xhigh' } },
    'unsupported_value',
    "Unsupported value: 'reasoning.effort' does not support 'xhigh' with this model. Supported values are: 'low' and 'high'.",
    'reasoning.effort',
  ],
  [{ tools: Array.from({ length: 129 }, () => look) }, 'array_above_max_length', longer('tools', 'an array', 128, 129)],
  [
    { tools: [look], tool_choice: { type: 'function', name: 'x' } },
    'invalid_value',
    /'x' is not among/,
    'tool_choice.name',
  ],
  [{ tools: [{ type: 'mcp' }], tool_choice: { type: 'mcp' } }, 'invalid_value', /'mcp'/, 'tool_choice.type'],
  [{ tool_choice: 'required' }, 'invalid_value', /no tool/],
  [{ model: 'short', max_output_tokens: 101 }, 'integer_above_max_value', /<= 100/, 'max_output_tokens'],
  [{ model: 'plain', tools: [look] }, 'model_capability_mismatch', /does not take tools/, 'tools'],
  [{ model: 'plain', text: { format } }, 'model_capability_mismatch', /does not take a JSON schema/, 'text.format'],
  [
    { model: 'plain', include: ['message.output_text.logprobs'] },
    ...(['model_capability_mismatch', /log probabilities/, 'include'] as const),
  ],
]

test('400 for each parameter out of its range, with its path; no model is asked', async () => {
  for (const [changes, code, message, param = Object.keys(changes)[0]] of REFUSED) {
    const { status, body } = await respond(changes)
    const what = JSON.stringify(changes).slice(0, 200)
    assert.deepEqual([status, body.error?.code, body.error?.param], [400, code, param], what)
    if (typeof message === 'string') assert.equal(body.error.message, message, what)
    else assert.match(body.error.message, message, what)
  }
  assert.equal(service.upstream.requests.length, 0)
})

test('404 for an unknown model or a video model, before anything that depends on the model', async () => {
  for (const model of ['gone', 'instant-1']) {
    const { status, body } = await respond({ model, reasoning: { effort: 'xhigh' } })
    assert.deepEqual([status, body.error.code], [404, 'model_not_found'])
  }
})

test('input_tokens counts the request that the engine would get, without asking it', async () => {
  const { status, body } = await respond({ instructions: 'Be brief.', tools: [look] }, '/v1/responses/input_tokens')
  assert.deepEqual([status, body.object], [200, 'response.input_tokens'])
  const less = await respond({}, '/v1/responses/input_tokens')
  assert.ok(less.body.input_tokens > 0 && less.body.input_tokens < body.input_tokens)
  const refused = await respond({ temperature: 3 }, '/v1/responses/input_tokens')
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'temperature'])
  assert.equal(service.upstream.requests.length, 0)
})

function respond(changes: Record<string, unknown>, path = '/v1/responses'): Promise<HttpResponse> {
  return send(service.app, 'POST', path, { key: service.person.key }, { model: 'm', input: 'Hi', ...changes })
}

/** The body the model server was given. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes.
async function forwarded(changes: Record<string, unknown>): Promise<Record<string, any>> {
  const { status, body } = await respond({ store: false, ...changes })
  assert.equal(status, 200, JSON.stringify(body))
  return service.asked()
}
