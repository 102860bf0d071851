import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { TestPerson } from '../support/http/app.ts'
import { type BackgroundApp, readStream, startBackgroundApp } from '../support/http/background-app.ts'
import { type ResponseEvent, readEvents } from '../support/http/response-requests.ts'
import { law } from '../support/law.ts'
import { chunk, USAGE } from '../support/upstream/chat-upstream.ts'
import { trials } from '../tiers.ts'

/** Responses, each followed by many at once; a long run asks for more. */
const ROUNDS = trials(12, 'ROUNDS')
const FOLLOWERS = 6

let service: BackgroundApp
let front: BackgroundApp
before(async () => {
  service = await startBackgroundApp()
  front = await startBackgroundApp({ worker: false, beside: service })
})
after(async () => {
  await front.close()
  await service.close()
})

let state = 0
const random = (below: number) => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
  return (state >>> 8) % below
}

/** An answer of any shape: reasoning, texts and calls in deltas of any size, complete, cut off, or without an end. */
function anyAnswer(): object[] {
  const frames: object[] = []
  const words = () =>
    ['a', ' boat', '\n\n', 'data: ', '“', '\u{1f6a3}', '\u0000', '"}'][random(8)]!.repeat(1 + random(20))
  for (let pieces = random(30); pieces > 0; pieces--) {
    const isReasoning = random(6) === 0
    frames.push(chunk(isReasoning ? { reasoning_content: words() } : { content: words() }))
  }
  for (let calls = random(3); calls > 0; calls--) {
    const call = { index: calls, id: `call_${calls}`, type: 'function', function: { name: 'f', arguments: '{"a":' } }
    frames.push(chunk({ tool_calls: [call] }))
    for (let pieces = random(5); pieces > 0; pieces--) {
      frames.push(chunk({ tool_calls: [{ index: calls, function: { arguments: '1' } }] }))
    }
    frames.push(chunk({ tool_calls: [{ index: calls, function: { arguments: '1}' } }] }))
  }
  const finish_reason = ['stop', 'stop', 'length', 'content_filter', null][random(5)]!
  return [...frames, chunk({}, { finish_reason, usage: USAGE })]
}

const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
const follow = async ({ app }: BackgroundApp, person: TestPerson, id: string, after: number | null) =>
  readEvents(await readStream(app, person, `${id}?stream=true${after === null ? '' : `&starting_after=${after}`}`))
/** Turns of the event loop: what comes between is up to chance. */
const idle = async (turns: number) => {
  for (let i = 0; i < turns; i++) await new Promise(setImmediate)
}

law('following a response from any event, at any time and through any process gives the same tail', async (seed) => {
  state = seed
  for (let round = 0; round < ROUNDS; round++) {
    service.upstream.reply({
      kind: 'stream',
      frames: anyAnswer(),
      piece_bytes: 1 + random(400),
      done: random(2) === 0,
    })
    const { body } = await front.submit({ tools })
    const following = Array.from({ length: FOLLOWERS }, async (_, nth) => {
      const after = nth === 0 ? null : random(30)
      await idle(random(200))
      return { after, events: await follow(nth % 2 ? service : front, service.person, body.id, after) }
    })
    const followed = await Promise.all(following)
    const whole = await follow(front, service.person, body.id, null)
    for (const { after, events } of followed)
      assert.deepEqual(events, tailOf(whole, after), `round ${round}, after ${after}`)
    for (const after of [whole.length - 2, whole.length - 1, random(whole.length)]) {
      assert.deepEqual(await follow(service, service.person, body.id, after), whole.slice(after + 1))
    }
    const { body: stored } = await front.call('GET', body.id)
    assert.deepEqual(whole.at(-1)!.response, stored)
  }
  assert.deepEqual(await service.app.audit(), {})
})

/** After its last number only the last event is sent: a follower that saw more followed a lost run. */
function tailOf(whole: ResponseEvent[], after: number | null): ResponseEvent[] {
  if (after === null) return whole
  return after > whole.length - 1 ? whole.slice(-1) : whole.slice(after + 1)
}

law('a response that was not made in the background can be streamed from any event on', async (seed) => {
  state = seed
  for (let round = 0; round < ROUNDS; round++) {
    service.upstream.reply({
      kind: 'stream',
      frames: [...anyAnswer().slice(0, -1), chunk({}, { finish_reason: 'stop', usage: USAGE })],
    })
    const { status, body } = await front.submit({ tools, background: false })
    assert.equal(status, 200, JSON.stringify(body))
    const whole = await follow(front, service.person, body.id, null)
    assert.deepEqual(whole.at(-1)!.response, body)
    const after = random(whole.length + 3)
    assert.deepEqual(await follow(front, service.person, body.id, after), whole.slice(after + 1))
  }
  assert.deepEqual(await service.app.audit(), {})
})
