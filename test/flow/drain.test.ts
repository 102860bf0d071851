import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TestModel } from '../support/http/chat-app.ts'
import {
  ask,
  chargesOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../support/http/metered-chat-app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { textFrames, USAGE } from '../support/upstream/chat-upstream.ts'

/** Runs `use` on a service that it may close: the database stays, to be looked at afterwards. */
async function closing(
  use: (service: MeteredChatApp, close: () => Promise<void>) => Promise<void>,
  models: readonly TestModel[] = [],
): Promise<void> {
  const service = await startMeteredChatApp({ models })
  const { app } = service.app
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= app.close()
    return closed
  }
  try {
    await use(service, close)
  } finally {
    await close()
    await service.app.database.close()
    await service.upstream.close()
  }
}

/** Resolves when the model server has been asked `count` times. */
async function asked(service: MeteredChatApp, count: number): Promise<void> {
  while (service.upstream.requests.length < count) await new Promise(setImmediate)
}

test('answers in flight are completed while the service closes, plain and streamed, and paid for', () =>
  closing(async (service, close) => {
    const person = await customer(service)
    const held = { kind: 'stream', frames: textFrames(['So far']), done: false, finally: 'stall' } as const
    service.upstream.reply(held, { kind: 'stall' }, { kind: 'stall' })
    const streaming = ask(service.app, person, { stream: true })
    await asked(service, 1)
    const late = [ask(service.app, person, { stream: true }), ask(service.app, person)]
    await asked(service, 3)
    const closed = close()
    service.upstream.release()
    for (const { status, text } of await Promise.all([streaming, late[0]!])) {
      assert.deepEqual([status, eventsOf(text).at(-1)], [200, '[DONE]'])
    }
    assert.equal((await late[1])!.body.choices[0].message.content, 'Hello there.')
    await closed
    const charges = await chargesOf(service.app, person)
    assert.deepEqual(
      charges.map(({ output_tokens }) => output_tokens),
      [USAGE.completion_tokens, USAGE.completion_tokens, USAGE.completion_tokens],
    )
  }))

test('503 with a retry delay for requests that arrive during the drain, the health check included; no engine is called and nothing charged', () =>
  closing(async (service, close) => {
    const person = await customer(service)
    const body = JSON.stringify({ model: 'far-1', messages: [{ role: 'user', content: 'Hello' }] })
    const key = `authorization: Bearer ${person.key}`
    const requests = [
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      `GET /v1/models HTTP/1.1\r\nhost: x\r\n${key}\r\n\r\n`,
      'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n',
    ]
    // Begun before the service closes and finished after: their connections are there already.
    const connections = await Promise.all(requests.map(() => rawConnection(service.app.url)))
    for (const [i, request] of requests.entries()) await connections[i]!.write(request.slice(0, 10))
    // One whole exchange later the beginnings have been read.
    assert.equal((await ask(service.app, person, { model: 'sandbox-1' })).status, 200)
    const closed = close()
    for (const [i, request] of requests.entries()) await connections[i]!.write(request.slice(10))
    for (const connection of connections) {
      const { status, headers, body: text } = await connection.answer()
      const { error } = JSON.parse(String(text))
      assert.deepEqual([status, error.code, error.type], [503, 'server_is_overloaded', 'server_error'])
      assert.match(headers['x-request-id']!, /^req_/)
      assert.equal(headers['retry-after'], '1')
      connection.close()
    }
    await closed
    assert.equal(service.upstream.requests.length, 0)
    assert.equal((await chargesOf(service.app, person)).length, 1)
  }))

test('answers cut off at the end of the drain time are charged for what was produced before the process ends', () =>
  closing(async (service, close) => {
    const person = await customer(service)
    const held = { kind: 'stream', frames: textFrames(['So far']).slice(0, 2), done: false, finally: 'stall' } as const
    // Almost twice the context of the model, the most that is not refused: an abandoned request pays for the context alone.
    const content = 'word '.repeat(16_000)
    service.upstream.reply(...Array.from({ length: 6 }, () => held))
    const begun = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const answer = await fetch(`${service.app.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'far-1', stream: true, messages: [{ role: 'user', content }] }),
        })
        const reader = answer.body!.getReader()
        for (let text = ''; !text.includes('So far'); ) text += new TextDecoder().decode((await reader.read()).value)
        return reader
      }),
    )
    const closed = close()
    service.app.app.http.server.closeAllConnections()
    await closed
    for (const reader of begun) await assert.rejects(reader.read())
    const charges = await chargesOf(service.app, person)
    assert.equal(charges.length, 6)
    for (const { input_tokens, output_tokens } of charges) assert.deepEqual([input_tokens, output_tokens], [8192, 2])
  }))

const LONG = { id: 'long-1', context_length: 1_000_000, max_output_tokens: 1000 }

test('what is read and counted of a request ends with its connection, so that the process does not go on for it', () =>
  closing(
    async (service, close) => {
      const person = await customer(service)
      const runs = Array.from({ length: 60_000 }, (_, i) => '='.repeat(32 + (i % 60)) + '-'.repeat(64 - (i % 60)))
      const messages = [{ role: 'user', content: runs.join('a') }]
      const used = process.threadCpuUsage()
      const seconds = () => process.threadCpuUsage(used).user / 1e6
      const asking = ask(service.app, person, { model: LONG.id, messages })
      // It takes about ten times as long.
      while (seconds() < 0.4) await nextTurn()
      const closed = close()
      service.app.app.http.server.closeAllConnections()
      await Promise.all([assert.rejects(asking), closed])
      const before = seconds()
      for (let turns = 0; turns < 100; turns++) await nextTurn()
      assert.ok(seconds() - before < 0.2, `${seconds() - before} s`)
    },
    [LONG],
  ))
