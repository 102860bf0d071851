import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import type { OutputItem } from '../../../server/responses/schema/items.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { newColleague, newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { type Person, sameInAnother } from '../../support/http/people.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import { type ResponseEvent, readEvents } from '../../support/http/response-requests.ts'
import { send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import { assistantMessage, responseObject, storeResponse, userMessage } from './stored-responses.ts'

let app: TestApp
let person: TestPerson
let colleague: TestPerson
let outsider: TestPerson
let elsewhere: Person
before(async () => {
  app = await startApp({ budget: openByteBudget({ wait_seconds: 600 }) })
  person = await newCustomer(app)
  colleague = await newColleague(app, person.org_id)
  outsider = await newCustomer(app)
  elsewhere = await sameInAnother(app, person)
})
after(() => app.close())
afterEach(async () => assert.deepEqual(await app.audit(), {}))

const call = (method: string, path: string, caller: { key?: string; cookie?: string } = person) =>
  send(app, method, `/v1/responses/${path}`, caller.key ? { key: caller.key } : caller)
const events = async (path: string) => readEvents(await fetchText(path))
const fetchText = async (path: string) => {
  const headers = { authorization: `Bearer ${person.key}` }
  const answer = await fetch(`${app.url}/v1/responses/${path}`, { headers })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type')!, /^text\/event-stream/)
  return answer.text()
}
const rows = async (table: string, id: string) => {
  const column = table === 'responses' ? 'id' : 'response_id'
  const { rows } = await app.database.pool.query(`select count(*)::int as n from ${table} where ${column} = $1`, [id])
  return rows[0].n
}

const everyItem: OutputItem[] = [
  { id: 'rs_1', type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'Thought' }] },
  assistantMessage('Hi', 'completed', 'msg_1'),
  { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
  { id: 'ctc_1', type: 'custom_tool_call', status: 'completed', call_id: 'call_2', name: 'g', input: 'x' },
]

test('200 with the response unchanged, by API key and by session of the same person', async () => {
  const response = await storeResponse(app, person, { output: everyItem, metadata: { order: '12' } })
  for (const caller of [{ key: person.key }, { cookie: person.cookie }]) {
    const { status, body } = await call('GET', response.id, caller)
    assert.equal(status, 200)
    assert.deepEqual(body, response)
    assert.equal(JSON.stringify(body), JSON.stringify(response), 'in the same order')
  }
})

test('200 for every value of `include`, in either spelling; 400 for any other', async () => {
  const { id } = await storeResponse(app, person)
  const known = ['include=reasoning.encrypted_content', 'include[]=message.output_text.logprobs']
  for (const query of [...known, 'include[]=file_search_call.results&include[]=reasoning.encrypted_content']) {
    assert.equal((await call('GET', `${id}?${query}`)).status, 200, query)
    assert.equal((await call('GET', `${id}/input_items?${query}`)).status, 200, query)
  }
  assertRefused(await call('GET', `${id}?include=everything`), {
    status: 400,
    code: 'invalid_value',
    param: 'include[0]',
  })
})

test('404 with the same body for a response of another organization, of a colleague, of oneself in another organization, and one that does not exist', async () => {
  const { id } = await storeResponse(app, person)
  const never = responseObject().id
  const routes = [
    ['GET', ''],
    ['GET', '?stream=true'],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ] as const
  for (const [method, path] of routes) {
    const bodies = new Set<string>()
    for (const caller of [colleague, outsider, elsewhere, { cookie: colleague.cookie }]) {
      for (const foreign of [id, never, 'resp_x']) {
        const answer = await call(method, foreign + path, caller)
        // A login needs the marks of the same site to change anything; the key proves as much.
        if (answer.status === 403) continue
        assertRefused(answer, { status: 404, code: 'not_found' })
        bodies.add(JSON.stringify(answer.body))
      }
    }
    assert.equal(bodies.size, 1, `${method} ${path}`)
  }
  assert.equal((await call('GET', id)).status, 200, 'and nothing has changed')
})

test('a response that was not made in the background is streamed as created, each item, and its last event', async () => {
  const response = await storeResponse(app, person, { output: everyItem })
  const emitted = await events(`${response.id}?stream=true`)
  assert.deepEqual(
    emitted.map(({ type }) => type),
    [
      'response.created',
      ...everyItem.flatMap(() => ['response.output_item.added', 'response.output_item.done']),
      'response.completed',
    ],
  )
  assert.deepEqual(
    emitted.map(({ sequence_number }) => sequence_number),
    emitted.map((_, index) => index),
  )
  const begun = emitted[0]!.response as ResponseObject
  assert.deepEqual([begun.status, begun.output, begun.usage, begun.completed_at], ['in_progress', [], null, null])
  const added = emitted.filter(({ type }) => type.endsWith('added')).map(({ item }) => item as OutputItem)
  const done = emitted.filter(({ type }) => type.endsWith('done')).map(({ item }) => item as OutputItem)
  assert.deepEqual(done, everyItem)
  assert.deepEqual(
    added.map(({ id, ...item }) => ({ id, status: 'status' in item ? item.status : null })),
    everyItem.map(({ id }) => ({ id, status: 'in_progress' })),
  )
  assert.deepEqual(emitted.at(-1)!.response, response)
})

test('a response that did not complete is streamed with its own last event', async () => {
  const cut = { status: 'incomplete', completed_at: null, incomplete_details: { reason: 'max_output_tokens' } } as const
  const emitted = await events(`${(await storeResponse(app, person, cut)).id}?stream=true`)
  assert.equal(emitted.at(-1)!.type, 'response.incomplete')
})

test('`starting_after` starts after that event; at or past the end only the end mark is sent', async () => {
  const { id } = await storeResponse(app, person, { output: everyItem })
  const all = await events(`${id}?stream=true`)
  for (const after of [0, 3, all.length - 2, all.length - 1, all.length + 7]) {
    const rest: ResponseEvent[] = await events(`${id}?stream=true&starting_after=${after}`)
    assert.deepEqual(rest, all.slice(after + 1), String(after))
  }
  for (const wrong of ['-1', 'x', '1.5', '99999999999']) {
    const answer = await call('GET', `${id}?stream=true&starting_after=${wrong}`)
    assert.equal(answer.status, 400, wrong)
    assert.equal(answer.body.error.param, 'starting_after')
  }
})

test('200 for a deletion: row, items and events are deleted, and the id is unknown', async () => {
  const { id } = await storeResponse(app, person)
  const { status, body } = await call('DELETE', id)
  assert.deepEqual([status, body], [200, { id, object: 'response', deleted: true }])
  assert.deepEqual([await rows('responses', id), await rows('response_items', id)], [0, 0])
  for (const [method, path] of [
    ['GET', id],
    ['DELETE', id],
    ['GET', `${id}/input_items`],
  ] as const) {
    assert.equal((await call(method, path)).status, 404)
  }
})

test('400 for canceling a response that was not made in the background', async () => {
  const { id } = await storeResponse(app, person)
  const answer = await call('POST', `${id}/cancel`)
  assertRefused(answer, { status: 400, code: 'invalid_request_error', message: /background/ })
})

test('input items are listed newest first, in pages of 20, each with its id and full parts', async () => {
  const input = Array.from({ length: 45 }, (_, i) => userMessage(`word ${i}`))
  const { id } = await storeResponse(app, person, {}, input)
  const first = (await call('GET', `${id}/input_items`)).body
  assert.deepEqual(first, {
    object: 'list',
    data: input.slice(25).reverse(),
    first_id: input[44]!.id,
    last_id: input[25]!.id,
    has_more: true,
  })
  const seen: unknown[] = []
  for (const order of ['desc', 'asc']) {
    for (let after = ''; ; ) {
      const { body } = await call('GET', `${id}/input_items?limit=7&order=${order}${after && `&after=${after}`}`)
      seen.push(...body.data)
      if (!body.has_more) break
      after = body.last_id
    }
  }
  assert.deepEqual(seen, [...input.toReversed(), ...input])
})

test('400 for a limit out of range, an unknown order, and an `after` that is not an input item of this response', async () => {
  const { id, output } = await storeResponse(app, person)
  const other = userMessage('elsewhere')
  await storeResponse(app, person, {}, [other])
  for (const limit of ['0', '101', '1e2', 'x', '1.5']) {
    const answer = await call('GET', `${id}/input_items?limit=${limit}`)
    assert.deepEqual([answer.status, answer.body.error.param], [400, 'limit'], limit)
  }
  assert.equal((await call('GET', `${id}/input_items?order=up`)).status, 400)
  for (const after of [other.id, output[0]!.id, 'msg_never', "x' or 1=1 --", 'msg_\0']) {
    const answer = await call('GET', `${id}/input_items?after=${encodeURIComponent(after)}`)
    assertRefused(answer, { status: 400, code: 'invalid_value', param: 'after' })
  }
})

test('large input is read as far as there is room for it in memory, which readers that take nothing keep for themselves', async () => {
  const input = Array.from({ length: 3 }, () => userMessage('a'.repeat(6_000_000)))
  const [large, small] = [await storeResponse(app, person, {}, input), await storeResponse(app, outsider)]
  const held = () => app.ctx.budget.held(`${person.org_id} reads`)
  const connections = await Promise.all(Array.from({ length: 6 }, () => rawConnection(app.url)))
  for (const { socket, write } of connections) {
    // Never read from.
    socket.removeAllListeners('data').pause()
    await write(
      `GET /v1/responses/${large.id}/input_items HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${person.key}\r\n\r\n`,
    )
  }
  while (held() < 54_000_000) await nextTurn()
  assert.equal((await call('GET', small.id, outsider)).status, 200)
  assert.ok(held() > 54_000_000 && held() < 55_000_000, `${held()} bytes`)
  for (const { close } of connections) close()
  while (held() > 0) await nextTurn()
  assert.deepEqual((await call('GET', `${large.id}/input_items?order=asc`)).body.data, input)
  while (held() > 0) await nextTurn()
})

test('a response without input has an empty list', async () => {
  const { id } = await storeResponse(app, person, {}, [])
  const { body } = await call('GET', `${id}/input_items`)
  assert.deepEqual(body, { object: 'list', data: [], first_id: null, last_id: null, has_more: false })
})
