import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import {
  type ChatUpstream,
  chunk,
  startChatUpstream,
  type UpstreamReply,
} from '../../support/upstream/chat-upstream.ts'
import { allEvents, assertEventOrder, live, textRequest } from './contract.ts'

const DEAD = 'http://127.0.0.1:9'
const request = textRequest('m')
const status = (code: number, headers = {}): UpstreamReply => ({
  kind: 'json',
  status: code,
  body: { error: {} },
  headers,
})

test('a request goes on to another server when the first cannot be reached, and never twice to one', () =>
  withServers(1, async ([only], open) => {
    const engine = open([{ base_url: DEAD }, { base_url: only!.url }])
    for (let i = 0; i < 5; i++) assertEventOrder(await allEvents(engine, request), 1)
    assert.equal(only!.requests.length, 5)
    assert.deepEqual(
      engine.breakers!().map(({ open_until }) => open_until > 0),
      [true, false],
    )
    const none = open([{ base_url: DEAD }, { base_url: DEAD }])
    await assert.rejects(none.generate(request, live()), hasFault('unreachable'))
  }))

test('a request goes from a server without capacity to one with capacity; the first one’s pause is kept', () =>
  withServers(2, async ([busy, free], open, time) => {
    const engine = open([{ base_url: busy!.url }, { base_url: free!.url }])
    busy!.reply(status(429, { 'retry-after': '10' }))
    await allEvents(engine, request)
    await allEvents(engine, request)
    assert.deepEqual([busy!.requests.length, free!.requests.length], [1, 2])
    time.now += 10_000
    await allEvents(engine, request)
    assert.equal(busy!.requests.length, 2)
  }))

test('when no server has capacity the error is overloaded, with the wait', () =>
  withServers(2, async ([a, b], open) => {
    const engine = open([{ base_url: a!.url }, { base_url: b!.url }])
    a!.reply(status(503))
    b!.reply(status(429, { 'retry-after': '3' }))
    const refused = await engine.generate(request, live()).catch((error: unknown) => error)
    assert.ok(refused instanceof EngineError)
    assert.deepEqual([refused.kind, refused.retry_after_seconds], ['overloaded', 3])
  }))

test('a request that may have been processed is not repeated: after a reset, a 500, a refusal, a broken stream', () =>
  withServers(2, async ([first, second], open) => {
    const replies: UpstreamReply[] = [
      { kind: 'reset' },
      status(500),
      status(400),
      { kind: 'stream', frames: [chunk({ content: 'a' })], done: false, finally: 'reset' },
    ]
    for (const reply of replies) {
      const engine = open([{ base_url: first!.url }, { base_url: second!.url }])
      first!.reply(reply)
      await assert.rejects(allEvents(engine, textRequest('m', { stream: true })), EngineError)
    }
    assert.equal(second!.requests.length, 0)
  }))

test('a server that keeps failing is not called until its pause is over', () =>
  withServers(2, async ([ill, well], open, time) => {
    const engine = open([{ base_url: ill!.url }, { base_url: well!.url }])
    for (let i = 0; i < 3; i++) {
      ill!.reply(status(500))
      await assert.rejects(engine.generate(request, live()), hasFault('failed'))
    }
    await allEvents(engine, request)
    assert.deepEqual([ill!.requests.length, well!.requests.length], [3, 1])
    time.now += 5_000
    await allEvents(engine, request)
    await allEvents(engine, request)
    assert.deepEqual([ill!.requests.length, well!.requests.length], [5, 1])
  }))

test('a server that refuses requests, by its content filter too, is called on', () =>
  withServers(2, async ([strict, other], open) => {
    const engine = open([{ base_url: strict!.url }, { base_url: other!.url }])
    const filtered: UpstreamReply = { kind: 'json', status: 400, body: { error: { code: 'content_filter' } } }
    for (let i = 0; i < 4; i++) {
      strict!.reply(filtered)
      await assert.rejects(engine.generate(request, live()), hasFault('moderation'))
    }
    await allEvents(engine, request)
    assert.deepEqual([strict!.requests.length, other!.requests.length], [5, 0])
  }))

test('a server is probed again after a client gave up its probe while the request was still being written', () =>
  withServers(2, async ([ill, well], open, time) => {
    const engine = open([{ base_url: ill!.url }, { base_url: well!.url }])
    for (let i = 0; i < 3; i++) {
      ill!.reply(status(500))
      await assert.rejects(engine.generate(request, live()), hasFault('failed'))
    }
    time.now += 5_000
    const left = new AbortController()
    const long = { ...request, messages: [{ role: 'user' as const, content: 'x'.repeat(1_000_000) }] }
    const probe = engine.generate(long, left.signal)
    left.abort(new Error('gone'))
    await assert.rejects(probe, /gone/)
    await allEvents(engine, request)
    assert.deepEqual([ill!.requests.length, well!.requests.length], [4, 0])
  }))

test('every server is called with its own key and its own name for the model', () =>
  withServers(2, async ([a, b], open) => {
    const own = { base_url: b!.url, api_key: 'kb', model: 'model-b' }
    const engine = open([{ base_url: a!.url }, own], 'ka')
    a!.reply(status(503))
    await allEvents(engine, request)
    const [one, two] = [a!.requests[0]!, b!.requests[0]!]
    assert.deepEqual([one.headers.authorization, one.json?.model], ['Bearer ka', 'm'])
    assert.deepEqual([two.headers.authorization, two.json?.model], ['Bearer kb', 'model-b'])
  }))

type Open = (
  endpoints: Array<{ base_url: string; api_key?: string; model?: string }>,
  api_key?: string,
) => ReturnType<typeof openaiChat>

/** Servers, and engines whose chance always falls on the first server that is usable and whose clock is moved by hand. */
async function withServers(
  count: number,
  body: (servers: ChatUpstream[], open: Open, time: { now: number }) => Promise<void>,
): Promise<void> {
  const servers = await Promise.all(Array.from({ length: count }, () => startChatUpstream()))
  const engines: Array<ReturnType<typeof openaiChat>> = []
  const time = { now: 0 }
  const chance = { random: () => 0, now: () => time.now }
  try {
    await body(
      servers,
      (endpoints, api_key) => {
        const engine = openaiChat({ kind: 'openai', endpoints, ...(api_key ? { api_key } : {}) }, { chance })
        engines.push(engine)
        return engine
      },
      time,
    )
  } finally {
    await Promise.all(engines.map((engine) => engine.close?.()))
    await Promise.all(servers.map((server) => server.close()))
  }
}

function hasFault(fault: string): (error: unknown) => boolean {
  return (error) => error instanceof EngineError && error.kind === fault
}
