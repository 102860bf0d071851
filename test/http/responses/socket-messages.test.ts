import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { assertError, type TurnSocket, turnSocket } from '../../support/http/socket/turns.ts'

let service: MeteredChatApp
let socket: TurnSocket
before(async () => {
  service = await startMeteredChatApp()
  socket = await turnSocket(service.app.url, await customer(service))
})
beforeEach(() => {
  service.upstream.requests.length = 0
})
after(async () => {
  await socket.close()
  await service.close()
})

/** Resolves when the model server has been asked `count` times in this test. */
const askedTimes = async (count: number) => {
  while (service.upstream.requests.length < count) await nextTurn()
}
const create = (members: string) => `{"type":"response.create","model":"far-1","input":"Hi",${members}}`

/** What a client may send by mistake, and the code of its error. */
const MISTAKES: ReadonlyArray<[message: string | Buffer, code: string, param?: string | null]> = [
  ['', 'invalid_json', null],
  [' ', 'invalid_json'],
  ['hello', 'invalid_json'],
  ['{"type":"response.create"', 'invalid_json'],
  ["{'type':'response.create'}", 'invalid_json'],
  ['{"type":"response.create"}{"type":"response.create"}', 'invalid_json'],
  ['{"type":"response.create",}', 'invalid_json'],
  ['\ufeff{"type":"response.create"}', 'missing_required_parameter', 'model'],
  ['null', 'invalid_json'],
  ['[]', 'invalid_json'],
  ['[{"type":"response.create"}]', 'invalid_json'],
  ['"response.create"', 'invalid_json'],
  ['42', 'invalid_json'],
  [Buffer.from('{"type":"response.create","model":"far-1","input":"Hi"}'), 'invalid_json', null],
  [Buffer.from([0, 1, 2]), 'invalid_json'],
  ['{}', 'missing_required_parameter', 'type'],
  ['{"type":null}', 'invalid_type', 'type'],
  ['{"type":7}', 'invalid_type', 'type'],
  ['{"type":{"a":1}}', 'invalid_type', 'type'],
  ['{"type":"response.steer","input":"Hi"}', 'unknown_event', 'type'],
  ['{"type":"session.update"}', 'unknown_event'],
  ['{"type":"Response.create"}', 'unknown_event'],
  ['{"type":"__proto__"}', 'unknown_event'],
  [`{"type":"${'x'.repeat(100_000)}"}`, 'unknown_event'],
  [create('"stream_id":7'), 'invalid_type', 'stream_id'],
  [create(`"stream_id":"${'x'.repeat(257)}"`), 'string_above_max_length', 'stream_id'],
  [create('"generate":"no"'), 'invalid_type', 'generate'],
  ['{"type":"response.create","response":"far-1"}', 'invalid_type', 'response'],
  ['{"type":"response.create","response":[]}', 'invalid_type', 'response'],
  ['{"type":"response.create","response":{}}', 'missing_required_parameter', 'model'],
  ['{"type":"response.create","model":"far-1","response":{"input":"Hi"}}', 'missing_required_parameter', 'model'],
  ['{"type":"response.create","model":"far-1"}', 'missing_required_parameter', 'input'],
  ['{"type":"response.create","model":"far-1","input":7}', 'invalid_type', 'input'],
  ['{"type":"response.create","model":"far-1","input":[{"type":"what"}]}', 'invalid_value', 'input[0].type'],
  [create('"temperature":3'), 'decimal_above_max_value', 'temperature'],
  [create('"background":true'), 'unsupported_parameter', 'background'],
  [create('"background":"yes"'), 'invalid_type', 'background'],
  [create('"conversation":"conv_1"'), 'unsupported_parameter', 'conversation'],
  [create('"previous_response_id":7'), 'invalid_type', 'previous_response_id'],
  [create('"user":"a\\u0000b"'), 'invalid_value', 'user'],
  [create('"previous_response_id":"\\ud800"'), 'invalid_value', 'previous_response_id'],
  [create('"a\\u0000":1'), 'invalid_value'],
  [create(`"metadata":${'['.repeat(70)}${']'.repeat(70)}`), 'invalid_value', null],
]

test(`${MISTAKES.length} invalid messages: each gets one error that names its mistake, and none ends the connection`, async () => {
  for (const [message, code, param] of MISTAKES) {
    socket.ws.send(message)
    assertError(await socket.events(), { status: 400, code, ...(param === undefined ? {} : { param }) })
  }
  assert.equal((await socket.turn({})).response.status, 'completed')
})

test('mistakes are answered in the order of the messages, after the active turn', async () => {
  service.upstream.reply({ kind: 'stall' })
  socket.send(create('"stream_id":"a"'))
  await askedTimes(1)
  socket.send('{')
  socket.send(create('"stream_id":"b","temperature":3'))
  socket.send('{"type":"x","stream_id":"c"}')
  socket.send(create('"stream_id":"d"'))
  service.upstream.release()
  const answers: unknown[] = []
  for (let i = 0; i < 5; i++) {
    const { last } = await socket.events()
    answers.push([last.stream_id, last.error?.code ?? last.type])
  }
  assert.deepEqual(answers, [
    ['a', 'response.completed'],
    [undefined, 'invalid_json'],
    ['b', 'decimal_above_max_value'],
    ['c', 'unknown_event'],
    ['d', 'response.completed'],
  ])
})

test('a readable stream_id is returned even when the rest is refused', async () => {
  for (const rest of ['"user":"\\u0000"', `"x":${'['.repeat(70)}${']'.repeat(70)}`, '"generate":1']) {
    socket.send(create(`"stream_id":"kept",${rest}`))
    assert.equal((await socket.events()).last.stream_id, 'kept')
  }
})

test('a message in many fragments, with pings between, is one message', async () => {
  const text = create('"stream_id":"parts"')
  for (let i = 0; i < text.length; i += 10) {
    socket.ws.send(text.slice(i, i + 10), { fin: i + 10 >= text.length })
    socket.ws.ping()
  }
  const { response, last } = await socket.events()
  assert.deepEqual([response.status, last.stream_id], ['completed', 'parts'])
})

test('1008 for a client that sends a thousand messages and more without waiting for an answer', async () => {
  const flooding = await turnSocket(service.app.url, await customer(service))
  service.upstream.reply({ kind: 'stall' })
  flooding.send(create('"store":false'))
  await askedTimes(1)
  for (let i = 0; i < 1000; i++) flooding.send('x')
  flooding.send('x'.repeat(250_000))
  assert.equal((await flooding.closed).code, 1008)
  assert.equal(service.app.ctx.budget.held(), 0, 'what is not answered takes no room')
  service.upstream.release()
})

test('1008 after a hundred messages in a row that begin no response, cancels among them, and no turn after it', async () => {
  for (const [message, answers] of [
    ['{"type":"response.cancel"}', 0],
    ['{"type":"response.cancel","response_id":"resp_0"}', 0],
    ['{"type":"response.steer"}', 101],
  ] as const) {
    const idle = await turnSocket(service.app.url, await customer(service))
    const sendTimes = async (count: number) => {
      for (let i = 0; i < count; i++) {
        idle.send(message)
        if (answers > 0) assertError(await idle.events(), { status: 400, code: 'unknown_event' })
      }
    }
    await sendTimes(100)
    assert.equal((await idle.turn({})).response.status, 'completed', 'a response begins the count again')
    await sendTimes(101)
    idle.send(create('"store":false'))
    const ended = await Promise.race([idle.closed, idle.events()])
    assert.deepEqual(ended, { code: 1008, reason: 'too many messages without a response' })
    assert.equal(service.upstream.requests.length, 1)
    service.upstream.requests.length = 0
  }
})
