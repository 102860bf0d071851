import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { TSchema } from 'typebox'
import { ChatBody } from '../../../server/chat/schema.ts'
import { CreateResponse } from '../../../server/responses/schema/response.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([{ id: 'm' }, { id: 'fetcher', engine: { fetches_urls: true } }])
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

type Node = TSchema & {
  type?: string
  items?: Node
  maxItems?: number
  anyOf?: Node[]
  properties?: Record<string, Node>
}

/** Every array of a schema, by its path. */
function arraysOf(schema: Node, path: string): Array<{ path: string; maxItems: number | undefined }> {
  const inner = [
    ...(schema.anyOf ?? []).flatMap((each) => arraysOf(each, path)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => arraysOf(each, `${path}.${name}`)),
    ...(schema.items ? arraysOf(schema.items, `${path}[]`) : []),
  ]
  return schema.type === 'array' ? [{ path, maxItems: schema.maxItems }, ...inner] : inner
}

test('every array of a body of chat and of responses has a published limit', () => {
  for (const [name, schema] of Object.entries({ chat: ChatBody, responses: CreateResponse })) {
    const arrays = arraysOf(schema as Node, name)
    assert.ok(arrays.length > 6, `${arrays.length} arrays of ${name}`)
    assert.deepEqual(
      arrays.filter(({ maxItems }) => maxItems === undefined),
      [],
    )
  }
})

test('400 `array_above_max_length` one above the limit of messages, of input items and of calls', async () => {
  const user = { role: 'user', content: 'a' }
  const call = (i: number) => ({ id: `c${i}`, type: 'function', function: { name: 'f', arguments: '' } })
  const calls = Array.from({ length: 1001 }, (_, i) => call(i))
  for (const [path, body, param] of [
    ['chat/completions', { messages: Array.from({ length: 20_001 }, () => user) }, 'messages'],
    ['chat/completions', { messages: [{ role: 'assistant', tool_calls: calls }] }, 'messages[0].tool_calls'],
    ['responses', { input: Array.from({ length: 20_001 }, () => user) }, 'input'],
  ] as const) {
    const answer = await send(service.app, 'POST', `/v1/${path}`, { key: service.person.key }, { model: 'm', ...body })
    assert.deepEqual(
      [answer.status, answer.body.error.code, answer.body.error.param],
      [...[400, 'array_above_max_length'], param],
    )
  }
})

test('402 for counting the input of a response without a balance: nothing is fetched or rendered', async () => {
  const poor = await newCustomer(service.app, { balance: 0n })
  const body = { model: 'm', input: 'Hello' }
  const answer = await send(service.app, 'POST', '/v1/responses/input_tokens', { key: poor.key }, body)
  assert.deepEqual([answer.status, answer.body.error.code], [402, 'insufficient_credits'])
})

const asked = (model: string, url: string) =>
  service.chat({ model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })

test('400 for a URL whose name resolves to a private address, by default and for engines that fetch', async () => {
  for (const model of ['m', 'fetcher']) {
    const { status, body } = await asked(model, 'http://localhost/secret.png')
    assert.deepEqual([status, body.error.code], [400, 'invalid_image_url'], model)
  }
  assert.equal(service.upstream.requests.length, 0)
})

test('a URL is sent to the server only if it is configured to fetch URLs', async () => {
  const url = 'http://93.184.215.14:443/cat.png'
  assert.equal((await asked('fetcher', url)).status, 200)
  assert.equal(service.asked().messages[0].content[0].image_url.url, url)
})
