import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage, ChatRequest } from '../contract.ts'
import { readRequest } from './read-request.ts'

const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  n: 1,
  stream: false,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})
const call = (id: string) => ({ id, type: 'function' as const, function: { name: 'f', arguments: '{"a":1}' } })
const tool = { type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }

async function refused(more: Partial<ChatRequest>): Promise<string> {
  try {
    await readRequest(request(more))
  } catch (error) {
    const { public_message, param } = error as { public_message: string; param: string }
    assert.ok(public_message.startsWith(`${param}: `))
    return public_message
  }
  return assert.fail('it was accepted')
}

test('calls, their results and what the model wrote next are one item of the history', async () => {
  const messages: ChatMessage[] = [
    {
      role: 'developer',
      content: [
        { type: 'text', text: 'Be' },
        { type: 'text', text: 'terse.' },
      ],
    },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Wait.', reasoning: 'Hm.', tool_calls: [call('1'), call('2')] },
    { role: 'tool', tool_call_id: '2', content: 'two' },
    { role: 'tool', tool_call_id: '1', content: 'one' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'thanks' },
  ]
  const part = (result: string, startsNewChunk: boolean) => ({
    type: 'functionCall',
    name: 'f',
    params: { a: 1 },
    startsNewChunk,
    result,
  })
  assert.deepEqual((await readRequest(request({ messages }))).history, [
    { type: 'system', text: 'Be\nterse.' },
    { type: 'user', text: 'go' },
    {
      type: 'model',
      response: [
        { type: 'segment', segmentType: 'thought', text: 'Hm.', ended: true },
        ...['Wait.', part('one', true), part('two', false), 'Done.'],
      ],
    },
    { type: 'user', text: 'thanks' },
  ])
})

test('arguments of a call that are no object are sent as an empty one', async () => {
  const broken = { ...call('1'), function: { name: 'f', arguments: '{"a' } }
  const messages: ChatMessage[] = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [broken] },
  ]
  const { history } = await readRequest(request({ messages }))
  const called = { type: 'functionCall', name: 'f', params: {}, startsNewChunk: true }
  assert.deepEqual(history[1], { type: 'model', response: [called] })
})

test('system messages are one item at the start, and messages of the user in a row one, unless they are to be separate', async () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: 'now' },
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'system', content: 'Be terse.' },
    { role: 'assistant', content: 'Done.' },
    { role: 'developer', content: 'Be kind.' },
  ]
  const user = (text: string) => ({ type: 'user', text })
  const model = (...response: string[]) => ({ type: 'model', response })
  const system = (text: string) => ({ type: 'system', text })
  assert.deepEqual((await readRequest(request({ messages }))).history, [
    system('Be terse.\n\nBe kind.'),
    user('now\n\ngo'),
    model('Yes.', 'Done.'),
  ])
  assert.deepEqual((await readRequest(request({ messages }), 'separate')).history, [
    user('now'),
    user('go'),
    model('Yes.'),
    system('Be terse.'),
    model('Done.'),
    system('Be kind.'),
  ])
})

test('sampling has the defaults of llama-server, a seed of its own each time, and penalties only when asked for', async () => {
  const { seed, ...rest } = (await readRequest(request())).sampling
  assert.deepEqual(rest, { temperature: 0.8, top_p: 0.95, top_k: 40, min_p: 0.05, penalty: null })
  assert.ok(Number.isInteger(seed) && seed >= 0)
  assert.notEqual(seed, (await readRequest(request())).sampling.seed)
  assert.equal((await readRequest(request({ seed: -1 }))).sampling.seed, 2 ** 32 - 2)
  assert.deepEqual((await readRequest(request({ presence_penalty: 1 }))).sampling.penalty, {
    repetition: 1,
    frequency: 0,
    presence: 1,
  })
})

test('tools are offered as tool_choice allows', async () => {
  const other = { type: 'function' as const, function: { name: 'g' } }
  const offered = async (more: Partial<ChatRequest>) =>
    Object.keys((await readRequest(request({ tools: [tool, other], ...more }))).functions ?? {})
  assert.deepEqual(await offered({}), ['f', 'g'])
  assert.deepEqual(await offered({ tool_choice: 'none' }), [])
  const allowed_tools = { mode: 'auto' as const, tools: [{ type: 'function' as const, function: { name: 'g' } }] }
  assert.deepEqual(await offered({ tool_choice: { type: 'allowed_tools', allowed_tools } }), ['g'])
  assert.equal((await readRequest(request({ tools: [tool], parallel_tool_calls: false }))).calls_max, 1)
})

test('a reasoning effort is a limit of tokens', async () => {
  const limit = async (reasoning_effort: string) => (await readRequest(request({ reasoning_effort }))).thought_tokens
  assert.deepEqual(await Promise.all(['none', 'low', 'high'].map(limit)), [0, 512, null])
})

test('what a local model cannot do is refused by its field', async () => {
  const image = { type: 'image_url' as const, image_url: { url: 'https://a.example/a.png' } }
  const json: ChatRequest['response_format'] = { type: 'json_object' }
  assert.match(
    await refused({ messages: [{ role: 'user', content: [image] }] }),
    /^messages\[0\]\.content\[0\]: .*image_url/,
  )
  assert.match(await refused({ messages: [{ role: 'user', content: 'a', name: 'Bo' }] }), /^messages\[0\]\.name: /)
  assert.match(
    await refused({ messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }),
    /^messages\[0\]\.tool_call_id: /,
  )
  assert.match(await refused({ logprobs: true }), /^logprobs: /)
  assert.match(await refused({ logit_bias: { hello: 1 } }), /^logit_bias: /)
  assert.match(await refused({ tools: [tool], tool_choice: 'required' }), /^tool_choice: /)
  assert.match(await refused({ tools: [tool], response_format: json }), /^response_format: /)
  assert.match(await refused({ extra: { min_tokens: 3 } }), /^min_tokens: /)
  assert.match(await refused({ reasoning_effort: 'enormous' }), /^reasoning_effort: /)
  const strict = { ...tool.function, strict: true, parameters: { type: 'object', properties: { a: { pattern: 'x' } } } }
  assert.match(
    await refused({ tools: [{ type: 'function', function: strict }] }),
    /^tools\[0\]\.function\.parameters\.properties\.a\.pattern: /,
  )
})
