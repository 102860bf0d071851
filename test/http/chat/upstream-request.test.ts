import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { readStream } from '../../support/http/background-app.ts'
import { type Asked, startChatService } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'
import { turnSocket } from '../../support/http/socket/turns.ts'

// What the chat server is sent, whichever way a client asks.

/** Where nothing listens. */
const NOBODY = 'http://127.0.0.1:9/v1'
const ALL = ['tools', 'structured_outputs']
const MODELS = [
  { id: 'm', capabilities: ALL },
  { id: 'small', context_length: 1000, max_output_tokens: 1000 },
  { id: 'bounded', max_output_tokens: 100 },
  { id: 'unknown', max_output_tokens: 1000 },
  { id: 'claude', engine: { kind: 'ai-sdk', package: '@ai-sdk/anthropic', api_key: 'k', base_url: NOBODY } },
]

let service: Awaited<ReturnType<typeof startChatService>>
let person: TestPerson
before(async () => {
  service = await startChatService(MODELS, { background: true })
  person = await newCustomer(service.app)
})
after(() => service.close())

type Message = { role: 'system' | 'developer' | 'user' | 'assistant'; content: string }
type Ask = { model?: string; messages: readonly Message[]; format?: object; limit?: number; more?: object }

const chatBody = ({ model = 'm', messages, format, limit, more }: Ask) => {
  return { model, messages, response_format: format, max_completion_tokens: limit, ...more }
}
const responseBody = ({ model = 'm', messages: input, format, limit, more }: Ask) => {
  return { model, input, text: { format }, max_output_tokens: limit, ...more }
}

/** `param` of the error that a request is answered with; null for a completion. */
type Failure = { code: string; param: string | null } | null
const post = async (path: string, body: object): Promise<Failure> => {
  const { status, body: answer } = await send(service.app, 'POST', path, { key: person.key }, body)
  return status === 200 ? null : answer.error
}

/** Every way to ask. */
const WAYS: Record<string, (ask: Ask) => Promise<Failure>> = {
  chat: (ask) => post('/v1/chat/completions', chatBody(ask)),
  'chat, streamed': (ask) => post('/v1/chat/completions', { ...chatBody(ask), stream: true }),
  responses: (ask) => post('/v1/responses', responseBody(ask)),
  'responses, streamed': (ask) => post('/v1/responses', { ...responseBody(ask), stream: true }),
  async 'responses in the background'(ask) {
    const { key } = person
    const body = { ...responseBody(ask), background: true }
    const { body: created } = await send(service.app, 'POST', '/v1/responses', { key }, body)
    if (created.error) return created.error
    await readStream(service.app, person, `${created.id}?stream=true`)
    return (await send(service.app, 'GET', `/v1/responses/${created.id}`, { key })).body.error
  },
  async 'responses over a socket'(ask) {
    const socket = await turnSocket(service.app.url, person)
    const { last, response } = await socket.turn(responseBody(ask))
    await socket.close()
    return last.error ?? response.error
  },
}

for (const [way, ask] of Object.entries(WAYS)) {
  const askedFor = async (wanted: Ask): Promise<Asked> => {
    service.upstream.requests.splice(0)
    assert.equal(await ask(wanted), null)
    return service.upstream.requests.at(-1)!.json!
  }
  const user = (content: string): Message => ({ role: 'user', content })

  test(`${way}: system and developer messages are one leading system message, messages of the user in a row are one`, async () => {
    const system = (content: string): Message => ({ role: 'system', content })
    const developer = (content: string): Message => ({ role: 'developer', content })
    const messages = [system('One.'), developer('Two.'), user('Hi'), developer(' '), system('Three.'), user('Go on.')]
    assert.deepEqual((await askedFor({ messages })).messages, [
      { role: 'system', content: 'One.\n\nTwo.\n\nThree.' },
      user('Hi\n\nGo on.'),
    ])
    const late = await askedFor({ messages: [user('Hi'), developer('Be brief.')] })
    assert.deepEqual(late.messages, [{ role: 'system', content: 'Be brief.' }, user('Hi')])
  })

  test(`${way}: a setting that changes nothing is not sent`, async () => {
    const neutral = { frequency_penalty: 0, presence_penalty: 0, repetition_penalty: 1, top_k: -1, min_p: 0, stop: [] }
    const messages = [user('Hi')]
    const { stream, stream_options, ...bare } = await askedFor({ messages })
    assert.deepEqual(bare, { model: 'upstream/m', messages })
    for (const more of [{ ...neutral, temperature: 1, top_p: 1 }, { top_k: 0 }, { stop: '' }, { stop: [''] }]) {
      const { stream, stream_options, ...rest } = await askedFor({ messages, more })
      assert.deepEqual(rest, bare)
    }
    const sampling = { temperature: 1, frequency_penalty: 0.5, repetition_penalty: 1.1, top_k: 1 }
    const { stream: _, stream_options: __, ...rest } = await askedFor({ messages, more: { ...neutral, ...sampling } })
    assert.deepEqual(rest, { ...bare, ...sampling })
  })

  test(`${way}: a message of the assistant that says nothing is not sent, and the user’s messages around it are one`, async () => {
    const empty: Message = { role: 'assistant', content: '' }
    const messages = [user('Hi'), empty, user('Are you there?'), { ...empty, content: 'Yes.' }, user('So?'), empty]
    assert.deepEqual((await askedFor({ messages })).messages, [
      user('Hi\n\nAre you there?'),
      { role: 'assistant', content: 'Yes.' },
      user('So?'),
    ])
  })

  test(`${way}: without a limit the answer gets what the context leaves, at most the model’s limit`, async () => {
    const words = user(`So${' word'.repeat(599)}`)
    const { max_completion_tokens: short } = await askedFor({ model: 'small', messages: [user('Hi')] })
    assert.ok(short < 1000 && short > 900, String(short))
    const { max_completion_tokens: long } = await askedFor({ model: 'small', messages: [words] })
    assert.ok(long <= 400 && long > 300, String(long))
    assert.equal((await askedFor({ model: 'bounded', messages: [words] })).max_completion_tokens, 100)
    const own = await askedFor({ model: 'small', messages: [words], limit: 900 })
    assert.equal(own.max_completion_tokens, 900, 'a limit of the client is sent as it is')
  })

  test(`${way}: a default limit that the server finds too large yields to the input`, async () => {
    service.upstream.reply({ kind: 'json', status: 400, body: { error: { message: TOO_LARGE, type: 'BadRequest' } } })
    const asked = await askedFor({ model: 'unknown', messages: [user('Hi')] })
    assert.deepEqual([asked.max_completion_tokens, service.upstream.requests.length], [180, 2])
    service.upstream.reply({ kind: 'json', status: 400, body: { error: { message: TOO_LARGE, type: 'BadRequest' } } })
    service.upstream.requests.splice(0)
    await ask({ model: 'unknown', messages: [user('Hi')], limit: 1000 })
    assert.equal(service.upstream.requests.length, 1, 'a limit of the client is not changed')
  })

  test(`${way}: a JSON object with a schema is asked for by that schema, or refused`, async () => {
    const schema = { type: 'object', properties: { at: { type: 'string' } } }
    const format = { type: 'json_object', schema }
    const { response_format } = await askedFor({ messages: [user('Hi')], format })
    assert.deepEqual(response_format, { type: 'json_schema', json_schema: { name: 'response', schema } })
    service.upstream.requests.splice(0)
    const failure = await ask({ model: 'small', messages: [user('Hi')], format })
    assert.deepEqual(
      [failure?.code, failure?.param],
      ['model_capability_mismatch', way.startsWith('chat') ? 'response_format' : 'text.format'],
    )
    assert.equal(service.upstream.requests.length, 0)
  })

  test(`${way}: a setting that the engine cannot send is refused by the client’s name for it, before anybody is asked`, async () => {
    const names = way.startsWith('chat') ? ['seed', 'response_format'] : ['seed', 'text.format']
    const asks = [{ more: { seed: 7 } }, { format: { type: 'json_object' } }]
    for (const [i, name] of names.entries()) {
      const failure = await ask({ model: 'claude', messages: [user('Hi')], ...asks[i] })
      assert.deepEqual([failure?.code, failure?.param], ['invalid_request_error', name])
    }
  })
}

/** vLLM's words, as in server/engines/chat/openai/context-length.test.ts. */
const TOO_LARGE =
  "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 200 tokens and your request has 20 input tokens (1000 > 200 - 20)."
