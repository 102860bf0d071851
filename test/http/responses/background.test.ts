import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { newColleague, newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, readStream, startBackgroundApp } from '../../support/http/background-app.ts'
import { balanceOf, chargesOf } from '../../support/http/metered-chat-app.ts'
import { readEvents } from '../../support/http/response-requests.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import { chunk, textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'

/** `front` answers requests alone, `service` works too: as two processes on one database. */
let service: BackgroundApp
let front: BackgroundApp
let colleague: TestPerson
before(async () => {
  service = await startBackgroundApp()
  front = await startBackgroundApp({ worker: false, beside: service })
  colleague = await newColleague(service.app, service.person.org_id)
})
after(async () => {
  await front.close()
  await service.close()
})
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

const SAID = { kind: 'stream', frames: textFrames(['One', ' two', ' three']) } as const
/** Says two items' worth of text and then nothing, until released. */
const HANGING = {
  kind: 'stream',
  frames: textFrames(['One', ' two']).slice(0, 3),
  done: false,
  finally: 'stall',
} as const
const chargesFor = async (person: TestPerson) => (await chargesOf(service.app, person)).length
const typesOf = (events: ReadonlyArray<{ type: string }>) => events.map(({ type }) => type)
const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** Reads a stream until its text holds `word`, then goes on as `rest`. */
async function follow(path: string, word: string, { key }: { key: string } = service.person) {
  const answer = await fetch(`${front.app.url}/v1/responses/${path}`, { headers: { authorization: `Bearer ${key}` } })
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes(word)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream ended without ${word}: ${text}`)
    text += value
  }
  return {
    text,
    async rest() {
      let more = ''
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) more += piece.value
      return more
    },
  }
}

test('200 at once with `queued` and no output; it completes with the usual events and is charged once', async () => {
  const person = await newCustomer(service.app)
  service.upstream.reply({ kind: 'stall' })
  const { status, body } = await front.submit({ instructions: 'Count.' }, person)
  assert.deepEqual(
    [status, body.status, body.output, body.usage, body.background, body.error],
    [200, 'queued', [], null, true, null],
  )
  while (service.upstream.requests.length === 0) await new Promise(setImmediate)
  service.upstream.release()
  await readStream(front.app, person, `${body.id}?stream=true`)
  const done = (await front.call('GET', body.id, person)).body
  assert.deepEqual([done.status, done.output[0].content[0].text], ['completed', 'Hello there.'])
  assert.deepEqual([done.instructions, done.created_at, done.id], ['Count.', body.created_at, body.id])
  assert.equal(done.usage.output_tokens, USAGE.completion_tokens)
  const [charge, ...others] = await chargesOf(service.app, person)
  assert.deepEqual([charge!.output_tokens, others.length], [USAGE.completion_tokens, 0])
  assert.equal(await balanceOf(service.app, person), 10_000_000_000n + charge!.amount)
})

test('its events are created, queued, in_progress and the answer, numbered without gaps, with one last event', async () => {
  service.upstream.reply(SAID)
  const { id } = (await service.submit()).body
  const response = await service.ended(id)
  const events = await service.events(id)
  assert.deepEqual(typesOf(events).slice(0, 4), [
    'response.created',
    'response.queued',
    'response.in_progress',
    'response.output_item.added',
  ])
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  )
  assert.equal(events.filter(({ type }) => TERMINAL.includes(type)).length, 1)
  assert.deepEqual(events.at(-1)!.response, response)
  assert.deepEqual(
    events.slice(0, 3).map(({ response }) => response.status),
    ['queued', 'queued', 'in_progress'],
  )
})

test('with `stream` the events are streamed, and a client that disconnects does not stop the response', async () => {
  service.upstream.reply(HANGING)
  const left = new AbortController()
  const headers = { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'm', input: 'Hi', background: true, stream: true })
  const answer = await fetch(`${front.app.url}/v1/responses`, { method: 'POST', headers, body, signal: left.signal })
  assert.match(answer.headers.get('content-type')!, /^text\/event-stream/)
  let text = ''
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes(' two')) break
  }
  left.abort()
  const { id } = JSON.parse(/data: (.*)/.exec(text)![1]!).response
  const running = await front.call('GET', id)
  assert.deepEqual([running.body.status, running.body.output], ['in_progress', []])
  service.upstream.release()
  const ended = await service.ended(id)
  // The model server ended without a reason.
  assert.deepEqual([ended.status, ended.error!.code], ['failed', 'upstream_error'])
})

test('a follower in another process reads events live, and all of them by the end', async () => {
  service.upstream.reply({ ...HANGING, frames: textFrames(['One', ' two']) })
  const { id } = (await front.submit()).body
  const following = await follow(`${id}?stream=true`, ' two')
  const late = await follow(`${id}?stream=true&starting_after=3`, ' two')
  service.upstream.release()
  const [whole, tail] = [following.text + (await following.rest()), late.text + (await late.rest())]
  assert.equal(whole, await readStream(front.app, service.person, `${id}?stream=true`))
  assert.equal(tail, whole.slice(whole.indexOf('event: response.content_part.added')))
})

test('stored events are sent together, not each in a write of its own, since many may follow one response', async () => {
  const { id } = (await front.submit()).body
  await service.events(id)
  const socket = connect(Number(new URL(front.app.url).port), '127.0.0.1')
  const headers = `host: x\r\nconnection: close\r\nauthorization: Bearer ${service.person.key}`
  socket.write(`GET /v1/responses/${id}?stream=true HTTP/1.1\r\n${headers}\r\n\r\n`)
  const text = String(Buffer.concat(await Array.fromAsync(socket)))
  assert.ok(text.split('\nevent: ').length > 2 * text.split(/\r\n[0-9a-f]+\r\nevent: /).length, text)
})

test('a running response that is cancelled by another process ends as cancelled, charged for what it produced', async () => {
  const person = await newCustomer(service.app)
  service.upstream.reply(HANGING)
  const { id } = (await front.submit({}, person)).body
  await follow(`${id}?stream=true`, ' two', person)
  const following = readStream(service.app, person, `${id}?stream=true`)
  const { status, body } = await front.call('POST', `${id}/cancel`, person)
  assert.deepEqual([status, body.status, body.incomplete_details], [200, 'cancelled', { reason: 'cancelled' }])
  const charges = await chargesOf(service.app, person)
  assert.equal(charges.length, 1)
  assert.deepEqual(
    [body.usage.input_tokens, body.usage.output_tokens],
    [charges[0]!.input_tokens, charges[0]!.output_tokens],
  )
  const events = readEvents(await following)
  assert.equal(events.at(-1)!.type, 'response.incomplete')
  assert.deepEqual(events.at(-1)!.response, body)
  const again = await front.call('POST', `${id}/cancel`, person)
  assert.deepEqual([again.status, again.body], [200, body], 'a second cancel returns the same')
  assert.equal((await front.call('GET', id, person)).body.status, 'cancelled')
})

test('400 for canceling a response that has ended otherwise', async () => {
  const { id } = (await service.submit()).body
  await service.ended(id)
  const answer = await service.call('POST', `${id}/cancel`)
  assertRefused(answer, { status: 400, code: 'invalid_request_error', message: /completed/ })
})

test('a running response that is deleted is cancelled first, and only its charge remains', async () => {
  const person = await newCustomer(service.app)
  service.upstream.reply(HANGING)
  const { id } = (await front.submit({}, person)).body
  const following = await follow(`${id}?stream=true`, ' two', person)
  const { status, body } = await front.call('DELETE', id, person)
  assert.deepEqual([status, body], [200, { id, object: 'response', deleted: true }])
  assert.equal((await front.call('GET', id, person)).status, 404)
  for (const table of ['response_items', 'response_event_batches']) {
    const { rows } = await service.app.database.pool.query(
      `select count(*)::int as n from ${table} where response_id = $1`,
      [id],
    )
    assert.equal(rows[0].n, 0, table)
  }
  assert.equal(await chargesFor(person), 1)
  const events = readEvents(following.text + (await following.rest()))
  const ends = typesOf(events).filter((type) => TERMINAL.includes(type))
  assert.equal(ends.length, 1, 'every follower gets one last event')
})

test('events of more bytes than are read at once are streamed like any others, and leave nothing in memory', async () => {
  const person = await newCustomer(service.app)
  service.upstream.reply(SAID)
  const instructions = 'long '.repeat(20_000)
  const { id } = (await service.submit({ instructions }, person)).body
  const events = readEvents(await readStream(front.app, person, `${id}?stream=true`))
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  )
  const whole = events.filter(({ response }) => response?.instructions === instructions)
  assert.deepEqual(typesOf(whole), [
    'response.created',
    'response.queued',
    'response.in_progress',
    'response.completed',
  ])
  assert.equal(front.app.ctx.budget.held(), 0)
})

test('a refusal of the model server fails the response with that error, in `error` and `response.failed`', async () => {
  const person = await newCustomer(service.app)
  service.upstream.reply({ kind: 'json', status: 500, body: { error: { message: 'broken' } } })
  const { id } = (await service.submit({}, person)).body
  const events = readEvents(await readStream(service.app, person, `${id}?stream=true`))
  assert.deepEqual(typesOf(events).slice(-2), ['error', 'response.failed'])
  const { body } = await service.call('GET', id, person)
  assert.deepEqual([body.status, body.error.code, body.error.type], ['failed', 'upstream_error', 'server_error'])
  assert.deepEqual(events.at(-1)!.response, body)
  assert.deepEqual([events.at(-2)!.code, events.at(-2)!.error.code], ['upstream_error', 'upstream_error'])
})

test('every HTTP error occurs at submission, and nothing is stored', async () => {
  const poor = await newCustomer(service.app, { balance: 0n })
  assertRefused(await front.submit({}, poor), { status: 402, code: 'insufficient_credits', type: 'insufficient_quota' })
  assert.equal((await front.submit({ model: 'none' })).status, 404)
  assert.equal((await front.submit({ store: false })).status, 400)
  assert.equal((await front.submit({ previous_response_id: `resp_${'0'.repeat(48)}` })).status, 404)
  const { rows } = await service.app.database.pool.query('select count(*)::int as n from responses where org_id = $1', [
    poor.org_id,
  ])
  assert.equal(rows[0].n, 0)
})

test('400 for continuing a response that has not ended; afterwards it can be continued', async () => {
  service.upstream.reply({ ...HANGING, frames: textFrames(['My', ' answer']) })
  const { id } = (await front.submit({ input: 'First' })).body
  await follow(`${id}?stream=true`, ' answer')
  const early = await front.submit({ previous_response_id: id })
  assertRefused(early, { status: 400, code: 'invalid_value', param: 'previous_response_id', message: /has not ended/ })
  service.upstream.release()
  await service.ended(id)
  const next = (await front.submit({ previous_response_id: id, input: 'Second' })).body
  assert.equal((await service.ended(next.id)).previous_response_id, id)
  const { messages } = service.upstream.requests.at(-1)!.json as { messages: Array<{ role: string; content: string }> }
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'First'],
      ['assistant', 'My answer'],
      ['user', 'Second'],
    ],
  )
})

test('404 for reading, following, canceling, deleting or continuing a running response of a colleague', async () => {
  service.upstream.reply(HANGING)
  const { id } = (await front.submit()).body
  await follow(`${id}?stream=true`, ' two')
  for (const [method, path] of [
    ['GET', id],
    ['GET', `${id}?stream=true`],
    ['GET', `${id}/input_items`],
    ['POST', `${id}/cancel`],
    ['DELETE', id],
  ] as const) {
    assertRefused(await front.call(method, path, colleague), { status: 404, code: 'not_found' })
  }
  const continued = await front.submit({ previous_response_id: id }, colleague)
  assertRefused(continued, { status: 404, code: 'previous_response_not_found', param: 'previous_response_id' })
  assert.equal((await front.call('GET', id)).body.status, 'in_progress')
  assert.equal((await front.call('POST', `${id}/cancel`)).status, 200)
})

test('a tool call in the background is an item like any other', async () => {
  const call = { index: 0, id: 'call_9', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
  const frames = [
    chunk({ role: 'assistant', tool_calls: [call] }),
    chunk({}, { finish_reason: 'tool_calls', usage: USAGE }),
  ]
  service.upstream.reply({ kind: 'stream', frames })
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { z: {}, a: {} } } }]
  const { id } = (await front.submit({ tools })).body
  const { output, tools: echoed } = await service.ended(id)
  assert.deepEqual(
    output.map(({ type }) => type),
    ['function_call'],
  )
  const [asked] = (service.upstream.requests.at(-1)!.json as { tools: Array<{ function: { parameters: object } }> })
    .tools
  assert.equal(
    JSON.stringify(asked!.function.parameters),
    JSON.stringify(tools[0]!.parameters),
    'in the order it was sent',
  )
  assert.equal(JSON.stringify((echoed[0] as { parameters: object }).parameters), JSON.stringify(tools[0]!.parameters))
})
