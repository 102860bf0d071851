import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { newColleague, newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { type Person, sameInAnother } from '../../support/http/people.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import { chunk, textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'
import { assistantMessage, responseObject, storeChain, storeResponse, userMessage } from './stored-responses.ts'

let service: BackgroundApp
let person: TestPerson
let colleague: TestPerson
let outsider: TestPerson
let elsewhere: Person
before(async () => {
  service = await startBackgroundApp({ worker: false })
  person = service.person
  colleague = await newColleague(service.app, person.org_id)
  outsider = await newCustomer(service.app)
  elsewhere = await sameInAnother(service.app, person)
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

const ask = (changes: Record<string, unknown>, { key }: TestPerson = person): Promise<HttpResponse> =>
  send(service.app, 'POST', '/v1/responses', { key }, { model: 'm', input: 'Go on', ...changes })
const post = (path: string, body: object, { key }: Pick<Person, 'key'> = person): Promise<HttpResponse> =>
  send(service.app, 'POST', path, { key }, { model: 'm', ...body })
/** What the model was last asked. */
const asked = () =>
  (service.upstream.requests.at(-1)!.json as { messages: Array<{ role: string; content: string }> }).messages.map(
    ({ role, content }) => `${role}: ${content}`,
  )
const answering = (text: string) => service.upstream.reply({ kind: 'stream', frames: textFrames([text]) })

test('200 for continuing a response: its input and output precede the new input, its instructions do not', async () => {
  answering('Paris.')
  const first = await ask({ input: 'Where is the tower?', instructions: 'Be brief.' })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  answering('On the Seine.')
  const second = await ask({ input: 'On which river?', previous_response_id: first.body.id, instructions: 'Be long.' })
  assert.deepEqual([second.status, second.body.previous_response_id], [200, first.body.id])
  assert.deepEqual(asked(), [
    'system: Be long.',
    'user: Where is the tower?',
    'assistant: Paris.',
    'user: On which river?',
  ])
  await ask({ input: 'Thanks', previous_response_id: second.body.id })
  assert.deepEqual(asked(), [
    'user: Where is the tower?',
    'assistant: Paris.',
    'user: On which river?',
    'assistant: On the Seine.',
    'user: Thanks',
  ])
})

test('two responses may continue one, and neither contains the other', async () => {
  const root = await storeResponse(service.app, person, { output: [assistantMessage('root')] }, [userMessage('begin')])
  const [left] = [await ask({ input: 'left', previous_response_id: root.id })]
  await ask({ input: 'right', previous_response_id: root.id })
  assert.deepEqual(asked(), ['user: begin', 'assistant: root', 'user: right'])
  await ask({ input: 'on', previous_response_id: left!.body.id })
  assert.deepEqual(asked(), ['user: begin', 'assistant: root', 'user: left', 'assistant: Hello there.', 'user: on'])
})

test('a call is answered in the next request, and its output follows it', async () => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const frames = [chunk({ tool_calls: [call] }), chunk({}, { finish_reason: 'tool_calls', usage: USAGE })]
  service.upstream.reply({ kind: 'stream', frames })
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
  const first = await ask({ tools })
  const unanswered = await ask({ tools, previous_response_id: first.body.id })
  assertRefused(unanswered, { status: 400, code: 'tool_output_missing', param: unanswered.body.error.param })
  const output = { type: 'function_call_output', call_id: 'call_1', output: '42' }
  const foreign = { type: 'approval', call_id: 'call_1' }
  const second = await ask({ tools, input: [foreign, output], previous_response_id: first.body.id })
  assert.equal(second.status, 200, JSON.stringify(second.body))
  const { body } = await service.call('GET', `${second.body.id}/input_items`)
  assert.deepEqual([body.data.length, body.data[0].type, body.data[0].call_id], [1, 'function_call_output', 'call_1'])
  const noted = await ask({ tools, input: [userMessage('wait'), output], previous_response_id: first.body.id })
  assert.equal(noted.status, 200, JSON.stringify(noted.body))
  const { messages } = service.upstream.requests.at(-1)!.json as { messages: Array<{ role: string; content: unknown }> }
  const roles = messages.map(({ role, content }) => (content === 'Go on\n\nwait' ? 'between' : role))
  assert.deepEqual(roles.slice(-3), ['between', 'assistant', 'tool'], 'a message between them goes before the call')
})

test('a call that was cut off and not run is left out of what continues, also when a later call has its id', async () => {
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
  const call = (text: string) => ({
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'f', arguments: text },
  })
  const cut = [chunk({ content: 'Let me look.' }), chunk({ tool_calls: [call('{"at":"no')] })]
  service.upstream.reply({ kind: 'stream', frames: [...cut, chunk({}, { finish_reason: 'length', usage: USAGE })] })
  const first = await ask({ tools, max_output_tokens: 20 })
  assert.deepEqual([first.body.status, first.body.output[1].status], ['incomplete', 'incomplete'])
  const again = [chunk({ tool_calls: [call('{}')] }), chunk({}, { finish_reason: 'tool_calls', usage: USAGE })]
  service.upstream.reply({ kind: 'stream', frames: again })
  const next = await ask({ tools, previous_response_id: first.body.id, input: 'Continue.' })
  assert.equal(next.status, 200, JSON.stringify(next.body))
  assert.deepEqual(asked(), ['user: Go on', 'assistant: Let me look.', 'user: Continue.'])
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'x' }
  const last = await ask({ tools, previous_response_id: next.body.id, input: [output] })
  assert.equal(last.status, 200, JSON.stringify(last.body))
  assert.deepEqual(asked().slice(2), ['user: Continue.', 'assistant: null', 'tool: x'])
  const ran = [userMessage('Look.'), ...first.body.output, output]
  assert.equal((await ask({ tools, input: ran })).status, 200)
  assert.deepEqual(asked(), ['user: Look.', 'assistant: Let me look.', 'tool: x'])
})

test('a chain of 100 responses is one context', async () => {
  const chain = await storeChain(service.app, person, 100)
  const { status } = await ask({ input: 'And now?', previous_response_id: chain[99]!.id })
  assert.equal(status, 200)
  const messages = asked()
  assert.deepEqual([messages.length, messages[0], messages[199]], [201, 'user: question 0', 'assistant: answer 99'])
})

test('404 with the same body, for every parameter that takes an id, for ids of a colleague, of another organization, of oneself in another organization and of nobody', async () => {
  const item = userMessage('secret')
  const mine = await storeResponse(service.app, person, {}, [item])
  const never = { response: responseObject().id, item: userMessage('').id }
  const places = [
    ['/v1/responses', 'response', (id: string) => ({ input: 'x', previous_response_id: id })],
    ['/v1/responses', 'response', (id: string) => ({ input: 'x', previous_response_id: id, background: true })],
    ['/v1/responses', 'response', (id: string) => ({ input: 'x', previous_response_id: id, stream: true })],
    ['/v1/responses/input_tokens', 'response', (id: string) => ({ input: 'x', previous_response_id: id })],
    ['/v1/responses/compact', 'response', (id: string) => ({ input: 'x', previous_response_id: id })],
    ['/v1/responses', 'item', (id: string) => ({ input: [{ type: 'item_reference', id }] })],
    ['/v1/responses', 'item', (id: string) => ({ input: [{ id }] })],
    ['/v1/responses', 'item', (id: string) => ({ input: [{ type: 'item_reference', id }], background: true })],
    ['/v1/responses/input_tokens', 'item', (id: string) => ({ input: [{ type: 'item_reference', id }] })],
    ['/v1/responses/compact', 'item', (id: string) => ({ input: [{ type: 'item_reference', id }] })],
  ] as const
  const before = service.upstream.requests.length
  for (const [path, kind, body] of places) {
    const id = kind === 'response' ? mine.id : item.id
    const code = kind === 'response' ? 'previous_response_not_found' : 'item_not_found'
    for (const caller of [colleague, outsider, elsewhere]) {
      const foreign = await post(path, body(id), caller)
      const none = await post(path, body(never[kind]), caller)
      assert.deepEqual(
        [foreign.status, foreign.body.error.code],
        [404, code],
        `${path} ${JSON.stringify(foreign.body)}`,
      )
      const texts = [
        JSON.stringify(foreign.body).replaceAll(id, '<id>'),
        JSON.stringify(none.body).replaceAll(never[kind], '<id>'),
      ]
      assert.equal(texts[0], texts[1], path)
    }
  }
  assert.equal(service.upstream.requests.length, before, 'no model was asked')
  const { status } = await post('/v1/responses', { input: [{ id: item.id }], previous_response_id: mine.id })
  assert.equal(status, 200, 'and its owner has both')
})

test('404 when a response of the chain was deleted: those before it can no longer be reached', async () => {
  const chain = await storeChain(service.app, person, 3)
  await service.call('DELETE', chain[1]!.id)
  const answer = await ask({ previous_response_id: chain[2]!.id })
  const param = 'previous_response_id'
  assertRefused(answer, { status: 404, code: 'previous_response_not_found', param, message: /deleted or has expired/ })
  assert.equal((await ask({ previous_response_id: chain[0]!.id })).status, 200)
})

test('400 for a cyclic chain, forged in the database', async () => {
  const chain = await storeChain(service.app, person, 2)
  const link = 'update responses set previous_response_id = $2 where id = $1'
  await service.app.database.pool.query(link, [chain[0]!.id, chain[1]!.id])
  const answer = await ask({ previous_response_id: chain[1]!.id })
  assertRefused(answer, { status: 400, code: 'invalid_value', param: 'previous_response_id', message: /from itself/ })
})

test('400 for more than 5,000 references, which are not looked up', async () => {
  const references = (count: number, id: string) =>
    Array.from({ length: count }, () => ({ type: 'item_reference', id }))
  for (const path of ['/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact']) {
    const answer = await post(path, { input: [...references(5000, 'msg_none'), { id: 'msg_none' }] })
    assertRefused(answer, { status: 400, code: 'invalid_value', param: 'input', message: /more than 5000 / })
  }
  await storeResponse(service.app, person, {}, [userMessage('Hi', 'msg_often')])
  const many = Array.from({ length: 1000 }, () => ({ role: 'user', content: 'Hi' }))
  assert.equal((await ask({ input: [...references(5000, 'msg_often'), ...many] })).status, 200)
})

test('references are replaced by their items, also in a chain, and stored as those items', async () => {
  const call = {
    id: 'fc_a',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_a',
    name: 'f',
    arguments: '{}',
  } as const
  const first = await storeResponse(service.app, person, { output: [call] }, [userMessage('Look it up', 'msg_named')])
  const output = { type: 'function_call_output', call_id: 'call_a', output: '42' }
  const input = [{ type: 'item_reference', id: 'msg_named' }, { id: 'fc_a' }, output]
  const answer = await ask({ input })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await service.call('DELETE', first.id)
  const { data } = (await service.call('GET', `${answer.body.id}/input_items?order=asc`)).body
  assert.deepEqual(
    data.map(({ type, id }: { type: string; id: string }) => [type, type === 'function_call_output' ? '' : id]),
    [
      ['message', 'msg_named'],
      ['function_call', 'fc_a'],
      ['function_call_output', ''],
    ],
  )
  assert.deepEqual(data[1], call)
  const again = await ask({ input: [{ id: 'msg_named' }] })
  assert.equal(again.status, 200, 'the copy is the newest of that id now')
})
