import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { readSocketMessage } from '../../../server/responses/socket/messages.ts'
import { newCustomer } from '../../support/http/app.ts'
import { startChatService } from '../../support/http/chat-app.ts'

const REQUESTS = 8

test('small requests of many items count what the items take: few of an organization wait for a model at once, others get 429', async () => {
  const budget = openByteBudget({ owner: 256 * 1024, wait_seconds: 0.05 })
  const { app, upstream, close } = await startChatService([{ id: 'm' }], { budget })
  upstream.always({ kind: 'stall' })
  const [one, other] = [await newCustomer(app), await newCustomer(app)]
  const input = Array.from({ length: 270 }, () => ({ role: 'user', content: 'a' }))
  const body = JSON.stringify({ model: 'm', input })
  assert.ok(body.length < 8192)
  const left = new AbortController()
  const statuses: number[] = []
  const post = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${app.url}/v1/responses`, { method: 'POST', headers, body, signal: left.signal })
    statuses.push(answer.status)
  }
  const sent = Array.from({ length: REQUESTS }, () => post(one.key).catch(() => {}))
  while (statuses.length + upstream.requests.length < REQUESTS) await nextTurn()
  // Three have room, and one may exceed it.
  assert.deepEqual(statuses, [429, 429, 429, 429])
  sent.push(post(other.key).catch(() => {}))
  while (upstream.requests.length < 5) await nextTurn()
  left.abort()
  await Promise.all(sent)
  while (budget.held() > 0) await nextTurn()
  await close()
})

test('the values of bodies are a share of their own, of messages on a socket too: waiting for their room keeps no body from being read', async () => {
  const budget = openByteBudget({ owner: 100_000, wait_seconds: 0.05 })
  const message = Buffer.from(JSON.stringify({ type: 'response.create', model: 'm', input: Array(1000).fill('a') }))
  const [first, second, third] = [budget.open('a'), budget.open('a'), budget.open('a')]
  await readSocketMessage(message, { lease: first })
  assert.equal(budget.held('a'), 0)
  await assert.rejects(readSocketMessage(message, { lease: second }), { code: 'too_many_requests' })
  assert.equal(third.add(90_000), undefined)
  for (const lease of [first, second, third]) lease.end()
  assert.equal(budget.held(), 0)
})
