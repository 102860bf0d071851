import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { anyoneWaits } from '../../support/data/meanwhile.ts'
import type { TestPerson } from '../../support/http/app.ts'
import { customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { send } from '../../support/http/send.ts'
import { assertError, type TurnSocket, turnSocket } from '../../support/http/socket/turns.ts'
import { chunk, textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
let outsider: TestPerson
let socket: TurnSocket
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
  outsider = await customer(service)
})
after(() => service.close())
beforeEach(async () => {
  service.upstream.requests.length = 0
  socket = await turnSocket(service.app.url, person)
})
afterEach(() => socket.close())

const replyText = (text: string) => service.upstream.reply({ kind: 'stream', frames: textFrames([text]) })
/** Role and text of each message that the model server was last asked with. */
const asked = () => {
  const messages = service.upstream.requests.at(-1)!.json!.messages as Array<{ role: string; content: unknown }>
  return messages.map(({ role, content }) => [role, content])
}
const fresh = (caller: { key: string } = person) => turnSocket(service.app.url, caller)

test('a chain that is not stored continues only on its connection and only from its latest response', async () => {
  const own = await fresh()
  replyText('One')
  const one = await own.turn({ store: false, input: 'First' })
  replyText('Two')
  const two = await own.turn({ store: false, input: 'Second', previous_response_id: one.response.id })
  replyText('Three')
  await own.turn({ store: false, input: 'Third', previous_response_id: two.response.id, instructions: 'Now' })
  assert.deepEqual(asked(), [
    ['system', 'Now'],
    ...[
      ['user', 'First'],
      ['assistant', 'One'],
      ['user', 'Second'],
      ['assistant', 'Two'],
      ['user', 'Third'],
    ],
  ])
  for (const previous_response_id of [one.response.id, two.response.id]) {
    assertError(await own.turn({ previous_response_id }), {
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    })
  }
  await own.close()
})

test('after a compaction a chain that is not stored has the messages of the user, the tools, and the summary', async () => {
  const tools = [{ type: 'function', name: 'look' }]
  replyText('One')
  const one = await socket.turn({
    store: false,
    input: [
      { type: 'additional_tools', tools },
      { role: 'user', content: 'First' },
    ],
  })
  replyText('It is one.')
  const input = [{ type: 'compaction_trigger' }]
  const two = await socket.turn({ store: false, input, previous_response_id: one.response.id })
  assert.deepEqual(
    two.response.output.map(({ type }: { type: string }) => type),
    ['compaction'],
  )
  replyText('Three')
  await socket.turn({ store: false, input: 'Third', previous_response_id: two.response.id })
  const [[role, summary], ...others] = asked() as [[string, string], ...unknown[]]
  assert.deepEqual([role, summary.split('\n').at(-1)], ['system', 'It is one.'])
  assert.deepEqual(others, [['user', 'First\n\nThird']])
  assert.match(JSON.stringify(service.upstream.requests.at(-1)!.json!.tools), /"name":"look"/)
})

test('chains of two streams continue independently on one connection', async () => {
  const ids: Record<string, string | undefined> = {}
  for (const round of [1, 2, 3]) {
    for (const stream_id of ['a', 'b']) {
      const previous_response_id = ids[stream_id]
      const { response } = await socket.turn({
        store: false,
        stream_id,
        previous_response_id,
        input: `${stream_id}${round}`,
      })
      ids[stream_id] = response.id
    }
  }
  const texts = asked().flatMap(([role, content]) => (role === 'user' ? [content] : []))
  assert.deepEqual(texts, ['b1', 'b2', 'b3'])
})

test('`previous_response_not_found` for a response that only another connection has cached, even of the same person', async () => {
  const { response } = await socket.turn({ store: false })
  for (const caller of [person, outsider]) {
    const other = await fresh(caller)
    assertError(await other.turn({ previous_response_id: response.id }), {
      status: 400,
      code: 'previous_response_not_found',
    })
    assert.equal((await other.turn({})).response.status, 'completed')
    await other.close()
  }
  assert.equal((await socket.turn({ previous_response_id: response.id })).response.status, 'completed')
})

test('stored responses can be continued on any connection of their person, and on no other', async () => {
  const { body } = await send(
    service.app,
    'POST',
    '/v1/responses',
    { key: person.key },
    { model: 'far-1', input: 'Over HTTP' },
  )
  const own = await fresh()
  const { response } = await own.turn({ previous_response_id: body.id, input: 'And on' })
  assert.equal(response.status, 'completed')
  assert.deepEqual(asked(), [
    ['user', 'Over HTTP'],
    ['assistant', 'Hello there.'],
    ['user', 'And on'],
  ])
  await own.close()
  const theirs = await fresh(outsider)
  for (const previous_response_id of [body.id, response.id, `resp_${'0'.repeat(48)}`, 'nothing']) {
    assertError(await theirs.turn({ previous_response_id }), { status: 400, code: 'previous_response_not_found' })
  }
  await theirs.close()
})

test('a failed continuation drops the cached response it continued; a stored one is read again', async () => {
  const wrong = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }]
  for (const store of [false, true]) {
    const { response } = await socket.turn({ store })
    const previous_response_id = response.id
    const failed = await socket.turn({ store, previous_response_id, input: wrong })
    assertError(failed, { status: 400, code: 'tool_call_not_found' })
    const again = await socket.turn({ store, previous_response_id })
    if (store) assert.equal(again.response.status, 'completed')
    else assertError(again, { status: 400, code: 'previous_response_not_found' })
  }
  const { response } = await socket.turn({ store: false })
  service.upstream.reply({ kind: 'stream', frames: textFrames(['So far']).slice(0, 2), finally: 'reset' })
  const broken = await socket.turn({ store: false, previous_response_id: response.id })
  assert.equal(broken.last.type, 'response.failed')
  assertError(await socket.turn({ previous_response_id: response.id }), {
    status: 400,
    code: 'previous_response_not_found',
  })
})

test('a continuation that is cancelled before its response begins leaves the cached response that it continued', async () => {
  const [referred] = (await socket.turn({})).response.output
  const { response } = await socket.turn({ store: false })
  const previous_response_id = response.id
  // So many that the work on them is given up once the client has cancelled.
  const many = Array.from({ length: 1100 }, () => ({ role: 'user', content: 'Hi' }))
  const input = [{ type: 'item_reference', id: referred.id }, ...many]
  const { db } = service.app.database
  await db.transaction().execute(async (tx) => {
    await sql`lock table response_items in access exclusive mode`.execute(tx)
    socket.send({ type: 'response.create', model: 'far-1', store: false, previous_response_id, input })
    while (!(await anyoneWaits(db))) await nextTurn()
    socket.send({ type: 'response.cancel' })
    socket.ws.ping()
    await once(socket.ws, 'pong')
  })
  assertError(await socket.events(), { status: 400, code: 'invalid_request_error', message: /cancelled before/ })
  assert.equal((await socket.turn({ previous_response_id })).response.status, 'completed')
})

test('a cancelled response that cannot be stored ends with that error, and not as one that never began', async () => {
  const { pool } = service.app.database
  await pool.query(`
    create function refuse_write() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse_write before insert on responses for each row execute function refuse_write()`)
  try {
    const frames = textFrames(['So far']).slice(0, 2)
    service.upstream.reply({ kind: 'stream', frames, finally: 'stall', done: false })
    socket.send({ type: 'response.create', model: 'far-1', input: 'Count' })
    while ((await socket.next()).type !== 'response.output_text.delta');
    socket.send({ type: 'response.cancel' })
    assertError(await socket.events(), { status: 500, code: 'server_error' })
  } finally {
    await pool.query('drop function refuse_write cascade')
  }
})

test('an answer cut off by its length is `response.incomplete` and can be continued', async () => {
  const frames = [chunk({ content: 'Half' }), chunk({}, { finish_reason: 'length', usage: USAGE })]
  service.upstream.reply({ kind: 'stream', frames })
  const { last, response } = await socket.turn({ store: false })
  assert.deepEqual([last.type, response.incomplete_details], ['response.incomplete', { reason: 'max_output_tokens' }])
  await socket.turn({ previous_response_id: response.id, input: 'Go on' })
  assert.deepEqual(asked(), [
    ['user', 'Hello'],
    ['assistant', 'Half'],
    ['user', 'Go on'],
  ])
})
