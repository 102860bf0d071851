import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newColleague } from '../support/http/app.ts'
import { ask, customer, eventsOf, type MeteredChatApp, startMeteredChatApp } from '../support/http/metered-chat-app.ts'
import { sameInAnother } from '../support/http/people.ts'
import { type HttpResponse, send } from '../support/http/send.ts'

let service: MeteredChatApp
let beside: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp({ plan: '{ requests_per_minute: 24 }' })
  beside = await startMeteredChatApp({ plan: '{ requests_per_minute: 24 }', beside: service })
})
after(async () => {
  await beside.close()
  await service.close()
})

const NAMES = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`)
const limits = ({ headers }: { headers: Headers }) => NAMES.map((name) => headers.get(name))
const list = (person: { key: string }, app: { url: string } = service.app): Promise<HttpResponse> =>
  send(app, 'GET', '/v1/models', { key: person.key })
const spend = async (person: { key: string }, count: number) => {
  for (let i = 0; i < count; i++) assert.equal((await list(person)).status, 200)
}

test('every answer carries the limit, the remaining requests and the reset time: errors and streams as well', async () => {
  const person = await customer(service)
  const { key } = person
  const calls: Array<() => Promise<{ status: number; headers: Headers }>> = [
    () => list(person),
    () => ask(service.app, person, { model: 'sandbox-1' }),
    () => ask(service.app, person, { model: 'sandbox-1', stream: true }),
    () => ask(service.app, person, { model: 'nowhere-1' }),
    () => ask(service.app, person, { temperature: 9 }),
    () => send(service.app, 'GET', '/v1/files/file-unknown', { key }),
    () => send(service.app, 'DELETE', '/v1/models', { key }),
    () => send(service.app, 'POST', '/v1/chat/completions', { key }, []),
  ]
  const statuses: number[] = []
  for (const [i, call] of calls.entries()) {
    const answer = await call()
    statuses.push(answer.status)
    assert.deepEqual(limits(answer), ['24', String(23 - i), `${Math.ceil(2.5 * (i + 1))}s`], `call ${i}`)
  }
  assert.deepEqual(statuses, [200, 200, 200, 404, 400, 404, 405, 400])
})

test('429 after a minute of requests at once, with the wait to the tenth of a second, and nothing is charged or asked', async () => {
  const person = await customer(service)
  await spend(person, 24)
  const answer = await ask(service.app, person)
  assert.equal(answer.status, 429)
  assert.deepEqual(limits(answer), ['24', '0', '1m0s'])
  assert.deepEqual([answer.body.error.type, answer.body.error.code], ['rate_limit_error', 'rate_limit_exceeded'])
  assert.match(answer.body.error.message, / Please try again in 2\.5s\.$/)
  assert.equal(answer.headers.get('retry-after'), '3')
  assert.equal(answer.headers.get('x-should-retry'), null)
  assert.equal(service.upstream.requests.length, 0)
})

test('requests come back one by one with time, and never more than a minute of them', async () => {
  const person = await customer(service)
  await spend(person, 24)
  service.app.clock.advance(2.4)
  assert.match((await list(person)).body.error.message, /try again in 0\.1s\.$/)
  service.app.clock.advance(0.1)
  assert.deepEqual([(await list(person)).status, (await list(person)).status], [200, 429])
  service.app.clock.advance(5)
  await spend(person, 2)
  assert.equal((await list(person)).status, 429)
  service.app.clock.advance(3600)
  await spend(person, 24)
  assert.equal((await list(person)).status, 429)
})

test('a refused request costs nothing: who keeps asking is not kept out longer', async () => {
  const person = await customer(service)
  await spend(person, 24)
  for (let i = 0; i < 30; i++) assert.equal((await list(person)).status, 429)
  service.app.clock.advance(2.5)
  assert.equal((await list(person)).status, 200)
})

test('200 calls at once to two processes: exactly the allowance passes, and what remains counts down to nothing', async () => {
  const person = await customer(service)
  beside.app.clock.set(service.app.clock.now())
  const calls = Array.from({ length: 200 }, (_, i) => list(person, [service, beside][i % 2]!.app))
  const answers = await Promise.all(calls)
  const passed = answers.filter(({ status }) => status === 200)
  assert.equal(passed.length, 24)
  assert.ok(answers.every(({ status }) => status === 200 || status === 429))
  const remaining = passed.map((answer) => Number(limits(answer)[1])).toSorted((a, b) => a - b)
  assert.deepEqual(
    remaining,
    Array.from({ length: 24 }, (_, i) => i),
  )
})

test('all keys and sessions of a person in an organization share one allowance', async () => {
  const person = await customer(service)
  const { cookie } = person
  const made = await send(service.app, 'POST', '/console/api_keys', { cookie }, { name: 'second' })
  await spend(person, 22)
  assert.deepEqual(limits(await list(made.body)), ['24', '1', '58s'])
  assert.deepEqual(limits(await send(service.app, 'GET', '/v1/models', { cookie })), ['24', '0', '1m0s'])
  for (const caller of [{ key: person.key }, { key: made.body.key }, { cookie }]) {
    const refused = await send(service.app, 'GET', '/v1/models', caller)
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded'])
  }
})

test('somebody else, and the same person in another organization, have an allowance of their own', async () => {
  const one = await customer(service)
  await spend(one, 24)
  for (const other of [await newColleague(service.app, one.org_id), await sameInAnother(service.app, one)])
    assert.deepEqual(limits(await list(other)), ['24', '23', '3s'])
})

test('the pages of the console that manage keys are not limited: a spent allowance keeps nobody from revoking one', async () => {
  const { key, key_id, cookie } = await customer(service)
  await spend({ key }, 24)
  assert.equal((await list({ key })).status, 429)
  const answer = await send(service.app, 'DELETE', `/console/api_keys/${key_id}`, { cookie })
  assert.deepEqual([answer.status, ...limits(answer)], [200, null, null, null])
})

test('what the console does in place of a route of the API is limited: sets of jobs, and last frames', async () => {
  const { key, cookie } = await customer(service)
  await spend({ key }, 22)
  const paths = ['/console/videos/variations', '/console/videos/video_none/last_frame']
  for (const [i, path] of paths.entries()) {
    const answer = await send(service.app, 'POST', path, { cookie }, i === 0 ? {} : undefined)
    assert.deepEqual(limits(answer).slice(0, 2), ['24', String(1 - i)], path)
  }
  for (const path of paths) {
    const refused = await send(service.app, 'POST', path, { cookie })
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded'], path)
  }
})

test('an unknown caller gets no rate limit headers', async () => {
  const answer = await send(service.app, 'GET', '/v1/models')
  assert.deepEqual([answer.status, ...limits(answer)], [401, null, null, null])
})

test('retry-after is at most a minute, however small the allowance', async () => {
  const slow = await startMeteredChatApp({ plan: '{ requests_per_minute: 1 }' })
  const person = await customer(slow)
  assert.equal((await list(person, slow.app)).status, 200)
  const answer = await list(person, slow.app)
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '60'])
  assert.match(answer.body.error.message, /try again in 60\.0s\.$/)
  assert.deepEqual(limits(answer), ['1', '0', '1m0s'])
  await slow.close()
})

test('an allowance that does not divide a minute is exact too', async () => {
  const odd = await startMeteredChatApp({ plan: '{ requests_per_minute: 7 }' })
  const person = await customer(odd)
  const answers = await Promise.all(Array.from({ length: 20 }, () => list(person, odd.app)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 7)
  await odd.close()
})

test('without a limit, the default, no answer has rate limit headers', async () => {
  const free = await startMeteredChatApp()
  const person = await customer(free)
  const answers = await Promise.all(Array.from({ length: 100 }, () => list(person, free.app)))
  for (const answer of answers) assert.deepEqual([answer.status, ...limits(answer)], [200, null, null, null])
  const streamed = await ask(free.app, person, { stream: true })
  assert.deepEqual([eventsOf(streamed.text).at(-1), ...limits(streamed)], ['[DONE]', null, null, null])
  await free.close()
})
