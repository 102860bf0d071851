import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { allSweeps } from '../../../server/assembly/background.ts'
import { newColleague, newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { send } from '../../support/http/send.ts'
import { SETTINGS } from './conversation-settings.ts'

let service: BackgroundApp
let person: TestPerson
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => {
  assert.deepEqual(await service.app.audit(), {})
  service.app.clock.set(new Date())
})

const PATH = '/console/conversations'
const call = (method: string, path = '', body?: unknown, as = person) =>
  send(service.app, method, PATH + path, { cookie: as.cookie }, body)
const begin = async (title: string, as = person): Promise<string> =>
  (await call('POST', '', { title, settings: SETTINGS }, as)).body.id
/** Asks in a conversation; the answer has ended. Returns the id of the response. */
const ask = async (conversation_id: string, input: string, changes: Record<string, unknown> = {}, as = person) => {
  const { body } = await service.submit({ input, metadata: { conversation_id }, ...changes }, as)
  await service.tick()
  return body.id as string
}
const idsOf = ({ body }: { body: { data: Array<{ id: string }> } }) => body.data.map(({ id }) => id)
const sweep = async () => {
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
}

test('answers are in the conversation that their metadata names, in order, with what the ledger charged for each', async () => {
  person = await newCustomer(service.app)
  const id = await begin('Boats')
  const first = await ask(id, 'What is a boat?')
  const again = await ask(id, 'What is a boat?')
  const second = await ask(id, 'And a ship?', { previous_response_id: again })
  const { body } = await call('GET', `/${id}/turns`)
  assert.deepEqual(idsOf({ body }), [first, again, second])
  const [turn, , last] = body.data
  assert.deepEqual([turn.object, turn.status, turn.previous_response_id], ['conversation.turn', 'completed', null])
  assert.deepEqual([last.previous_response_id, last.input[0].content[0].text], [again, 'And a ship?'])
  assert.equal(turn.output[0].content[0].text, 'Hello there.')
  const ledger = (await send(service.app, 'GET', '/console/ledger', { cookie: person.cookie })).body.data
  const charged = ledger.filter(({ kind }: { kind: string }) => kind === 'charge').reverse()
  assert.deepEqual(
    body.data.map(({ charge }: { charge: { amount: string; input_tokens: number } }) => [
      charge.amount,
      charge.input_tokens,
    ]),
    charged.map(({ amount, input_tokens }: { amount: string; input_tokens: number }) => [
      amount.replace('-', ''),
      input_tokens,
    ]),
  )
  assert.deepEqual(idsOf(await call('GET', `/${id}/turns?after=${first}`)), [again, second])
})

test('a page of turns ends before it is large, and the next one goes on', async () => {
  person = await newCustomer(service.app)
  const id = await begin('Long')
  const asked = [await ask(id, 'x'.repeat(90_000)), await ask(id, 'short')]
  for (let i = 0; i < 13; i++) asked.push(await ask(id, 'y'.repeat(90_000)))
  const seen: string[] = []
  for (let after = ''; ; ) {
    const page = await call('GET', `/${id}/turns${after}`)
    seen.push(...idsOf(page))
    if (!page.body.has_more) break
    assert.ok(page.text.length < 1_200_000)
    after = `?after=${page.body.last_id}`
  }
  assert.deepEqual(seen, asked)
})

test("nobody's answer is in the conversation of somebody else, nor in none, whatever its metadata says", async () => {
  person = await newCustomer(service.app)
  const id = await begin('Mine')
  const colleague = await newColleague(service.app, person.org_id)
  for (const as of [colleague, await newCustomer(service.app)]) {
    const response_id = await ask(id, 'Let me in', {}, as)
    assert.equal((await service.call('GET', response_id, as)).body.status, 'completed')
  }
  for (const none of ['conv_00000000000000000000000000', 'my own', '\u0000'.repeat(3)]) await ask(none, 'Where am I?')
  assert.deepEqual(idsOf(await call('GET', `/${id}/turns`)), [])
})

test('the list has pinned ones first, then the last used, page by page; one without an answer is not in it', async () => {
  person = await newCustomer(service.app)
  const ids: string[] = []
  for (const title of ['a', 'b', 'c', 'd']) ids.push(await begin(title))
  await begin('empty')
  const [a, b, c, d] = ids as [string, string, string, string]
  for (const id of [...ids, b]) {
    service.app.clock.advance(10)
    await ask(id, 'Hello')
  }
  await call('PATCH', `/${a}`, { pinned: true })
  assert.deepEqual(idsOf(await call('GET')), [a, b, d, c])
  assert.deepEqual(idsOf(await call('GET', '?order=asc')), [c, d, b, a])
  const page = await call('GET', '?limit=2')
  assert.deepEqual([idsOf(page), page.body.has_more], [[a, b], true])
  assert.deepEqual(idsOf(await call('GET', `?limit=2&after=${b}`)), [d, c])
  await call('DELETE', `/${b}`)
  assert.deepEqual(idsOf(await call('GET', `?after=${b}`)), [a, d, c], 'after one that is gone it begins again')
})

test('a search finds titles and what the person wrote, in any case, and takes no character for a pattern', async () => {
  person = await newCustomer(service.app)
  const id = await begin('About Lighthouses')
  await ask(id, '灯台は 100% 高い?')
  const found = async (search: string) => idsOf(await call('GET', `?search=${encodeURIComponent(search)}`))
  for (const text of ['lightHOUSE', '灯台', '100% 高']) assert.deepEqual(await found(text), [id], text)
  for (const text of ['Hello there', '1%0', '_', 'boat']) assert.deepEqual(await found(text), [], text)
  await call('PATCH', `/${id}`, { title: 'Towers' })
  assert.deepEqual([await found('lighthouse'), await found('towers')], [[], [id]])
})

test('only what is sent is changed; a title and settings have their limits', async () => {
  person = await newCustomer(service.app)
  const id = await begin('First')
  const settings = { ...SETTINGS, system: 'Be brief.' }
  assert.deepEqual((await call('PATCH', `/${id}`, { settings })).body.settings, settings)
  const { body } = await call('PATCH', `/${id}`, {})
  assert.deepEqual([body.title, body.pinned, body.settings], ['First', false, settings])
  assert.equal(body.expires_at, body.used_at + 30 * 86_400)
  for (const bad of [{ title: '' }, { title: 'x'.repeat(201) }, { settings: {} }, { used_at: 1 }])
    assert.equal((await call('PATCH', `/${id}`, bad)).status, 400, JSON.stringify(bad).slice(0, 40))
})

test('409 `conflict` for a person with 2,000 conversations in the organization', async () => {
  person = await newCustomer(service.app)
  const id = await begin('First')
  await service.app.database.pool.query(
    `insert into conversations (id, org_id, user_id, title, settings, created_at, used_at)
     select id || n, org_id, user_id, title, settings, created_at, used_at from conversations, generate_series(1, 1999) n where id = $1`,
    [id],
  )
  const { status, body } = await call('POST', '', { title: 'One more', settings: SETTINGS })
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
  await call('DELETE', `/${id}`)
  assert.equal((await call('POST', '', { title: 'One more', settings: SETTINGS })).status, 200)
})

test('deleting a conversation deletes its responses; one that is running is cancelled first, and charged', async () => {
  person = await newCustomer(service.app)
  const id = await begin('Short')
  const done = await ask(id, 'Hello')
  const other = await ask(await begin('Other'), 'Hello')
  const running = (await service.submit({ metadata: { conversation_id: id } }, person)).body.id
  assert.deepEqual((await call('DELETE', `/${id}`)).body, { id, object: 'conversation', deleted: true })
  for (const gone of [done, running]) assert.equal((await service.call('GET', gone, person)).status, 404)
  assert.equal((await service.call('GET', other, person)).status, 200)
  assert.equal((await call('GET', `/${id}`)).status, 404)
  assert.equal((await call('DELETE', `/${id}`)).status, 404)
})

test('a conversation and all its responses are kept for 30 days after the last message, and no longer', async () => {
  person = await newCustomer(service.app)
  const { clock } = service.app
  const [used, unused] = [await begin('Used'), await begin('Unused')]
  const stored = async () =>
    (
      await service.app.database.pool.query('select id from conversations where user_id = $1', [person.user_id])
    ).rows.map(({ id }) => id)
  const old = await ask(used, 'Hello')
  await ask(unused, 'Hello')
  clock.advance(20 * 86_400)
  await ask(used, 'Still there?', { previous_response_id: old })
  clock.advance(10 * 86_400 + 60)
  await sweep()
  assert.deepEqual(await stored(), [used])
  assert.equal((await service.call('GET', old, person)).status, 200, 'older than 30 days, and in use')
  await ask(used, 'And now?', { previous_response_id: old })
  clock.advance(30 * 86_400 + 60)
  await sweep()
  assert.deepEqual([await stored(), (await service.call('GET', old, person)).status], [[], 404])
})
