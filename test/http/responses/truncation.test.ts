import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'

/** `m` takes 1,000 tokens and nobody but us counts them; the last four say nothing of their length. */
const MODELS = [
  { id: 'm', context_length: 1000, engine: { system_messages: 'separate' } },
  { id: 'brief', context_length: 1000, max_output_tokens: 100, engine: { system_messages: 'separate' } },
  { id: 'long' },
  { id: 'unknown' },
  { id: 'chatty' },
  { id: 'shared' },
]

let service: ChatApp
before(async () => {
  service = await startChatApp(MODELS)
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

/** A text of so many tokens. */
const words = (count: number, first = 'So') => `${first}${' word'.repeat(count - 1)}`
const user = (tokens: number, first?: string) => ({ role: 'user', content: words(tokens, first) })
const assistant = (tokens: number, first?: string) => ({ role: 'assistant', content: words(tokens, first) })
const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })
const output = (call_id: string, tokens: number) => ({ type: 'function_call_output', call_id, output: words(tokens) })

test('200 at the context length, 400 context_length_exceeded beyond it, with the limit and the input length', async () => {
  const counted = await count([user(500), assistant(300), user(100)])
  const fitting = [user(500 + 1000 - counted), assistant(300), user(100)]
  assert.equal(await count(fitting), 1000)
  assert.equal((await respond({ input: fitting })).status, 200)
  const before = service.upstream.requests.length
  for (const truncation of [undefined, null, 'disabled']) {
    const { status, body } = await respond({ input: [...fitting, user(5)], truncation })
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'context_length_exceeded', 'input'])
    assert.match(
      body.error.message,
      /^This model's maximum context length is 1000 tokens\. However, your input resulted in 1008 tokens\./,
    )
  }
  assert.equal(service.upstream.requests.length, before)
})

test('400 without asking the server for an input far longer than the context, however it is sent', async () => {
  const { content } = user(3000)
  const bytes = 'x'.repeat(300_000)
  for (const [path, body, param] of [
    ['/v1/chat/completions', { model: 'brief', messages: [{ role: 'user', content }] }, 'messages'],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: bytes }] }, 'messages'],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: bytes }], max_tokens: 5 }, 'messages'],
    ['/v1/responses', { input: content }, 'input'],
    ['/v1/responses', { input: bytes, truncation: 'auto' }, 'input'],
    ['/v1/responses/input_tokens', { input: content }, 'input'],
  ] as const) {
    const { status, body: answer } = await respond(body, path)
    assert.deepEqual([status, answer.error?.code, answer.error?.param], [400, 'context_length_exceeded', param])
    assert.match(answer.error.message, /resulted in more than 1000 tokens/)
  }
  assert.equal(service.upstream.requests.length, 0)
})

test('400 for counting more tokens than any model takes', async () => {
  const body = { model: 'long', input: 'a '.repeat(2_200_000) }
  const { status, body: answer } = await respond(body, '/v1/responses/input_tokens')
  assert.deepEqual([status, answer.error?.code, answer.error?.param], [400, 'context_length_exceeded', 'input'])
  assert.match(answer.error.message, /more than 2097152 tokens/)
})

test('200 with auto: the oldest items are dropped until input and answer fit, calls with their outputs, the last turn never', async () => {
  const input = [
    { role: 'developer', content: 'Rule.' },
    user(200, 'One'),
    call('call_a'),
    output('call_a', 300),
    assistant(100, 'Two'),
    user(100, 'Three'),
    call('call_b'),
    output('call_b', 100),
  ]
  const more = { truncation: 'auto', instructions: 'Be brief.' }
  const firsts = async (changes: object) => {
    const { status, body } = await respond({ input, ...more, ...changes })
    assert.equal(status, 200, JSON.stringify(body))
    return service
      .asked()
      .messages.map((each: { role: string; content: string | null }) => (each.content ?? each.role).split(' ')[0])
  }
  const whole = ['Be', 'Rule.', 'One', 'assistant', 'So', 'Two', 'Three', 'assistant', 'So']
  assert.deepEqual(await firsts({ max_output_tokens: 50 }), whole)
  const withoutFirst = whole.filter((first) => first !== 'One')
  assert.deepEqual(await firsts({ max_output_tokens: 300 }), withoutFirst)
  assert.deepEqual(await firsts({}), withoutFirst, 'a quarter of the length is kept for the answer')
  assert.deepEqual(await firsts({ model: 'brief' }), whole, 'as much as the model answers at most')
  assert.deepEqual(await firsts({ max_output_tokens: 500 }), ['Be', 'Rule.', 'Two', 'Three', 'assistant', 'So'])
  assert.deepEqual(await firsts({ max_output_tokens: 700 }), ['Be', 'Rule.', 'Three', 'assistant', 'So'])
  const { status, body } = await respond({ input, ...more, max_output_tokens: 900 })
  assert.deepEqual([status, body.error.code], [400, 'context_length_exceeded'])
  assert.deepEqual((await respond({ input, ...more, max_output_tokens: 300 })).body.truncation, 'auto')
})

test('200 with auto for a chain: items are dropped from the request, and the stored chain is unchanged', async () => {
  const first = await respond({ input: [user(600, 'Long')] })
  const next = await respond({ input: [user(300, 'Then')], previous_response_id: first.body.id, truncation: 'auto' })
  assert.equal(next.status, 200, JSON.stringify(next.body))
  assert.equal(
    service.asked().messages.some((each: { content: string }) => each.content.startsWith('Long')),
    false,
  )
  const refused = await respond({ input: [user(600)], previous_response_id: next.body.id })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'context_length_exceeded'])
})

test('200 with auto for more images than a request may have: those that are dropped are not read', async () => {
  const picture = { type: 'input_image', image_url: 'https://example.com/a.png' }
  const input = [...Array.from({ length: 300 }, () => ({ role: 'user', content: [picture] })), user(20)]
  assert.equal((await respond({ input, truncation: 'auto' })).status, 200)
  assert.equal(service.asked().messages.length, 1)
  const { body } = await respond({ input, model: 'long', truncation: 'auto' })
  assert.match(body.error.message, /at most 256/)
})

test('200 for any length when the context length is unknown', async () => {
  for (const truncation of ['auto', 'disabled']) {
    assert.equal((await respond({ model: 'long', input: [user(5000)], truncation })).status, 200)
    assert.equal(service.asked().messages.length, 1)
  }
})

test('200 with auto for 10,000 items', async () => {
  const input = Array.from({ length: 5000 }, (_, i) => [user(2, `q${i}`), assistant(2)]).flat()
  const { status } = await respond({ input: [...input, user(2)], truncation: 'auto' })
  assert.equal(status, 200)
  const { messages } = service.asked()
  assert.ok(messages.length > 50 && messages.length < 250, String(messages.length))
})

function respond(changes: Record<string, unknown>, path = '/v1/responses'): Promise<HttpResponse> {
  return send(service.app, 'POST', path, { key: service.person.key }, { model: 'm', ...changes })
}

async function count(input: unknown, model = 'long'): Promise<number> {
  const { status, body } = await respond({ input, model, truncation: 'auto' }, '/v1/responses/input_tokens')
  assert.equal(status, 200, JSON.stringify(body))
  return body.input_tokens
}

test('200 with auto and no configured length: the server states its limit, the oldest items are dropped, and it is asked again once', async () => {
  service.upstream.reply(refusal('resulted in 620 tokens'))
  const input = [user(300, 'First'), assistant(200, 'Second'), user(100, 'Last')]
  const { status, body } = await respond({ model: 'unknown', input, truncation: 'auto' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(service.upstream.requests.length, 2)
  const kept = (service.asked().messages as Array<{ content: string }>).map(({ content }) => content.split(' ')[0])
  assert.deepEqual(kept, ['Last'])
  const again = await respond({ model: 'unknown', input, truncation: 'auto' })
  assert.deepEqual([again.status, service.upstream.requests.length], [200, 3], 'the stated length is kept')
  service.upstream.reply(refusal('resulted in 620 tokens'))
  const refused = await respond({ model: 'unknown', input })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'context_length_exceeded'])
})

test('200 with auto when the server also counts the tokens of the answer: only the excess of the input is dropped', async () => {
  service.upstream.reply(refusal('requested 750 tokens (550 in the messages, 200 in the completion)'))
  const input = [user(480, 'First'), assistant(30, 'Second'), user(30, 'Last')]
  const { status, body } = await respond({ model: 'chatty', input, truncation: 'auto', max_output_tokens: 200 })
  assert.equal(status, 200, JSON.stringify(body))
  const kept = (service.asked().messages as Array<{ content: string }>).map(({ content }) => content.split(' ')[0])
  assert.deepEqual(kept, ['Second', 'Last'])
})

test('a context length stated to one organization does not truncate the requests of another', async () => {
  service.upstream.reply(refusal('resulted in 620 tokens'))
  await respond({ model: 'shared', input: [user(600), user(20)], truncation: 'auto' })
  const input = [user(300, 'First'), assistant(200, 'Second'), user(100, 'Last')]
  const body = { model: 'shared', input, truncation: 'auto' }
  const { status } = await send(service.app, 'POST', '/v1/responses', { key: service.outsider.key }, body)
  assert.deepEqual([status, service.asked().messages.length], [200, 3])
})

/** The error of a server with a context length of 300 tokens. */
function refusal(asked: string) {
  const message = `This model's maximum context length is 300 tokens. However, your messages ${asked}.`
  const error = { message, type: 'invalid_request_error', code: 'context_length_exceeded' }
  return { kind: 'json' as const, status: 400, body: { error } }
}
