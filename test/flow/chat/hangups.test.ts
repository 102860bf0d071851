import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, afterEach, before, test } from 'node:test'
import { toText } from '../../../server/platform/metrics/exposition.ts'
import { readExposition, sumOf } from '../../support/data/exposition.ts'
import {
  chargesReaching,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { chunk } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp()
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

/** Leaves a stream once its text holds `word`, and returns when the service has seen that its client is gone. */
async function leaveAt(path: string, body: object, word: string, key: string): Promise<void> {
  const before = await connections()
  const asking = request(`${service.app.url}${path}`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  asking.end(JSON.stringify({ model: 'far-1', stream: true, ...body }))
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer) {
    text += piece
    if (text.includes(word)) break
  }
  asking.destroy()
  while ((await connections()) > before) await new Promise((resolve) => setTimeout(resolve, 5))
}

const connections = () =>
  new Promise<number>((resolve, reject) =>
    service.app.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

const HIDDEN = { prompt_tokens: 4, completion_tokens: 5000, total_tokens: 5004 }
const frames = [chunk({ content: 'Hi' }), chunk({}, { finish_reason: 'stop' })]

test('a client that disconnects when the model server has given its last reason, and not its usage, is charged for the usage', async () => {
  for (const [path, body, word] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }, '"content":"Hi"'],
    ['/v1/responses', { input: 'Hello' }, 'output_text.delta'],
  ] as const) {
    const person = await customer(service)
    service.upstream.reply({
      kind: 'stream',
      frames: [...frames, { ...chunk({}), choices: [], usage: HIDDEN }],
      hold_after: frames.length,
    })
    await leaveAt(path, body, word, person.key)
    service.upstream.release()
    const [charge] = await chargesReaching(service.app, person, 1)
    assert.deepEqual([charge!.input_tokens, charge!.output_tokens], [4, 5000], path)
  }
})

test('a client that disconnects before the last `finish_reason` ends the call, and is charged for what was produced', async () => {
  const person = await customer(service)
  service.upstream.reply({ kind: 'stream', frames: [frames[0]!], done: false, finally: 'stall' })
  await leaveAt('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }, 'Hi', person.key)
  await service.upstream.left()
  const [charge] = await chargesReaching(service.app, person, 1)
  assert.equal(charge!.output_tokens, 1)
})

test('a body is read no further once its client has left: it is neither checked nor counted', async () => {
  const person = await customer(service)
  const errors = async (code?: string) => {
    const read = readExposition(await toText([await service.app.ctx.metrics.read()]))
    return sumOf(read, 'kinora_http_errors_total', { route: '/v1/chat/completions', ...(code && { code }) })
  }
  const before = await errors()
  const asking = request(`${service.app.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
  })
  asking.on('error', () => {})
  // Far more than the model takes, which would be the next error.
  const content = Array.from({ length: 190_000 }, () => 'x'.repeat(300))
  asking.end(JSON.stringify({ model: 'far-1', messages: [{ role: 'user', content: 'y'.repeat(3_000_000) }], content }))
  await once(asking, 'finish')
  asking.destroy()
  while ((await errors()) === before) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(await errors('context_length_exceeded'), 0)
  assert.equal(await errors('invalid_request_error'), 1)
})
