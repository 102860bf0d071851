import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TSchema } from 'typebox'
import { ChatBody } from '../../../server/chat/schema.ts'
import { CreateResponse } from '../../../server/responses/schema/response.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { send } from '../../support/http/send.ts'
import { messageParts } from './message-parts.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([
    { id: 'm' },
    { id: 'short', context_length: 16_384, max_output_tokens: 1024 },
    { id: 'fetcher', engine: { fetches_urls: true } },
  ])
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

test('others are answered while an input of words that take long to count is counted', async () => {
  const runs = Array.from({ length: 12_000 }, (_, i) => '='.repeat(32 + (i % 60)) + '-'.repeat(64 - (i % 60)))
  const messages = [{ role: 'user', content: runs.join('a') }]
  let counted = false
  const long = service.chat({ model: 'short', messages }, service.outsider).finally(() => {
    counted = true
  })
  while (service.app.ctx.budget.held(service.outsider.org_id) === 0) await nextTurn()
  let answered = 0
  for (; !counted; answered++) assert.equal((await service.chat()).status, 200)
  assert.equal((await long).body.error.code, 'context_length_exceeded')
  assert.ok(answered > 3, `${answered} answers`)
})

const { given, assertRefused } = messageParts(() => service, 'chat')
const part = (type: 'image_url' | 'video_url' | 'audio_url', url: string) => ({ type, [type]: { url } })
const asked = (model: string, url: string) =>
  service.chat({ model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })

test('400 for a URL whose name resolves to a private address, by default and for engines that fetch', async () => {
  for (const model of ['m', 'fetcher']) {
    const { status, body } = await asked(model, 'http://localhost/secret.png')
    assert.deepEqual([status, body.error.code], [400, 'invalid_image_url'], model)
  }
  assert.equal(service.upstream.requests.length, 0)
})

test('200 for a public http(s) URL when the engine fetches files: it is sent normalized', async () => {
  const pairs = [
    ['https://93.184.215.14/a.png', 'https://93.184.215.14/a.png'],
    ['http://93.184.215.14:80/a b?c=d#e', 'http://93.184.215.14/a%20b?c=d#e'],
    ['http://93.184.215.14:443/cat.png', 'http://93.184.215.14:443/cat.png'],
    ['HTTPS://93.184.215.14/é', 'https://93.184.215.14/%C3%A9'],
  ] as const
  for (const type of ['image_url', 'video_url', 'audio_url'] as const) {
    for (const [sent, got] of pairs) assert.deepEqual(await given([part(type, sent)], 'fetcher'), [part(type, got)])
  }
})

const PRIVATE = [
  'http://127.0.0.1/a.png',
  'http://localhost/a.png',
  'http://[::1]/a.png',
  'http://0x7f.1/a.png',
  'http://2130706433/a.png',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:10.0.0.1]/a.png',
  'http://10.0.0.1/a.png',
  'https://192.168.1.1/a.png',
]
const MALFORMED = [
  'ftp://example.com/a',
  'file:///etc/passwd',
  'http://',
  '//example.com/a',
  'a.png',
  'javascript:alert(1)',
]
const FORBIDDEN = [
  'http://user:pass@example.com/a',
  'http://example.com:8080/a',
  'https://example.com:22/a',
  `http://example.com/${'a'.repeat(8200)}`,
]

test('400 with the same message for every URL that may not be fetched, naming no address', async () => {
  const texts = new Set<string>()
  for (const url of [...PRIVATE, ...MALFORMED, ...FORBIDDEN]) {
    texts.add(await assertRefused(part('image_url', url), 'invalid_image_url', 'image_url.url'))
  }
  assert.equal(texts.size, 1)
  assert.match([...texts][0]!, /the URL cannot be fetched\. Give a public http or https URL/)
  await assertRefused(part('video_url', 'http://10.0.0.1/a'), 'invalid_file_data', 'video_url.url')
  await assertRefused(part('audio_url', 'http://10.0.0.1/a'), 'invalid_file_data', 'audio_url.url')
})

test('400 for literal private addresses and malformed URLs, also when the engine would fetch', async () => {
  for (const url of [...PRIVATE.filter((each) => !each.includes('localhost')), ...MALFORMED, ...FORBIDDEN]) {
    await assertRefused(part('image_url', url), 'invalid_image_url', 'image_url.url', /cannot be fetched/, 'fetcher')
  }
})
