import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import {
  ask,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { callDeltas, createResponse, functionTool, readEvents, replyOf } from '../../support/http/response-requests.ts'
import { send } from '../../support/http/send.ts'
import { chunk, textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'
import { type ApiDocument, closed, resolveRefs } from './rules.ts'

let service: MeteredChatApp
let background: BackgroundApp
let person: { key: string; org_id: string }
let document: ApiDocument
before(async () => {
  service = await startMeteredChatApp({ models: [{ id: 'open-1', expose_raw_reasoning: true }] })
  background = await startBackgroundApp()
  person = await customer(service)
  document = (await (await fetch(`${service.app.url}/openapi.json`)).json()) as ApiDocument
})
after(async () => {
  await background?.close()
  await service?.close()
})

/** The published schema of a 200 answer, with no room for members it does not name. */
function published(name: string, type: string) {
  const [method, path] = name.split(' ') as [string, string]
  const answer = resolveRefs(document, document.paths[path]![method.toLowerCase()]!.responses['200'])
  const { content } = answer as { content: Record<string, { schema: TSchema }> }
  const compiled = Compile(closed(content[type]!.schema) as TSchema)
  return (value: unknown) => {
    assert.ok(compiled.Check(value), `${name}: ${JSON.stringify(value)} ${JSON.stringify(compiled.Errors(value))}`)
  }
}

const LOGPROBS = {
  content: [
    { token: 'Hi', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'Hi', logprob: -0.5, bytes: [72, 105] }] },
  ],
  refusal: null,
}
const CALLS = callDeltas(0, { id: 'c1', name: 'look', pieces: ['{"at"', ':1}'] })
const BROKEN = { kind: 'stream' as const, frames: [...textFrames(['Hel']).slice(0, 2), { error: { message: 'x' } }] }

test('every chunk of a chat stream, and the error that ends one, has the published shape', async () => {
  const check = published('POST /v1/chat/completions', 'text/event-stream')
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const eventsWith = async (changes: object) => {
    const { status, text } = await ask(service.app, person, { stream: true, ...changes })
    assert.equal(status, 200, text)
    return eventsOf(text).slice(0, -1)
  }
  service.upstream.reply(replyOf([{ reasoning_content: 'Hm.' }, { content: 'Hi' }, { refusal: 'No.' }]))
  const events = await eventsWith({ stream_options: { include_usage: true } })
  service.upstream.reply({
    kind: 'stream',
    frames: [chunk({ content: 'Hi' }, { logprobs: LOGPROBS }), chunk({}, { finish_reason: 'length', usage: USAGE })],
  })
  events.push(...(await eventsWith({ logprobs: true, top_logprobs: 1 })))
  service.upstream.reply(replyOf(CALLS, { finish_reason: 'tool_calls' }))
  events.push(...(await eventsWith({ tools })))
  service.upstream.reply(BROKEN)
  const broken = await eventsWith({})
  assert.ok(broken.at(-1).error, JSON.stringify(broken))
  for (const event of [...events, ...broken]) check(event)
  for (const wrong of [{}, { ...events[0], id: null }, { ...events[0], more: 1 }, { error: 'x' }])
    assert.throws(() => check(wrong))
})

test('every event of a response has the published shape, and every published event is met', async () => {
  const check = published('POST /v1/responses', 'text/event-stream')
  const met = new Set<string>()
  const checkEvents = (text: string) => {
    for (const event of readEvents(text)) {
      check(event)
      met.add(event.type)
    }
  }
  const stream = async (reply: Parameters<typeof service.upstream.reply>[0], changes: object = {}) => {
    service.upstream.reply(reply)
    const { status, text } = await createResponse(service.app, person, { stream: true, ...changes })
    assert.equal(status, 200, text)
    checkEvents(text)
  }
  const logprobs = { include: ['message.output_text.logprobs'], top_logprobs: 1 }
  await stream(
    { kind: 'stream', frames: [chunk({ content: 'Hi' }, { logprobs: LOGPROBS }), ...textFrames(['.'])] },
    logprobs,
  )
  await stream(replyOf([{ content: 'Well, ' }, { refusal: 'no.' }]))
  await stream(replyOf(CALLS, { finish_reason: 'tool_calls' }), { tools: [functionTool('look')] })
  const patch = callDeltas(0, { id: 'c1', name: 'patch', pieces: ['{"input"', ':"x"}'] })
  await stream(replyOf(patch, { finish_reason: 'tool_calls' }), { tools: [{ type: 'custom', name: 'patch' }] })
  await stream(replyOf([{ reasoning_content: 'Hm.' }, { content: 'Hi' }]), { reasoning: { summary: 'auto' } })
  await stream(replyOf([{ reasoning_content: 'Hm.' }, { content: 'Hi' }]), {
    model: 'open-1',
    include: ['reasoning.encrypted_content'],
    store: false,
  })
  await stream(replyOf([{ content: 'Hi' }], { finish_reason: 'length' }), { metadata: { a: 'b' }, user: 'u' })
  await stream(BROKEN)
  checkEvents(
    (await createResponse(background.app, background.person, { model: 'm', background: true, stream: true })).text,
  )
  const { schemas } = document.components
  const { discriminator, oneOf } = schemas.ResponseStreamEvent as {
    discriminator: { mapping: object }
    oneOf: object[]
  }
  assert.deepEqual([...met].sort(), Object.keys(discriminator.mapping).sort())
  assert.deepEqual(
    oneOf.map((each) => Object.values(each)[0]),
    Object.values(discriminator.mapping),
  )
})

test('plain answers of chat and responses have the published shape and no other members', async () => {
  const chat = published('POST /v1/chat/completions', 'application/json')
  service.upstream.reply({
    kind: 'stream',
    frames: [chunk({ content: 'Hi' }, { logprobs: LOGPROBS }), ...textFrames(['.'])],
  })
  chat((await ask(service.app, person, { logprobs: true, top_logprobs: 1 })).body)
  service.upstream.reply(replyOf(CALLS, { finish_reason: 'tool_calls' }))
  const call = (await ask(service.app, person, { tools: [{ type: 'function', function: { name: 'look' } }] })).body
  assert.equal(call.choices[0].message.content, null)
  chat(call)
  const response = published('POST /v1/responses', 'application/json')
  service.upstream.reply(replyOf([{ reasoning_content: 'Hm.' }, { content: 'Hi' }]))
  const plain = (await createResponse(service.app, person)).body
  response(plain)
  service.upstream.reply(replyOf([{ content: 'Hi' }], { finish_reason: 'length' }))
  response(
    (
      await createResponse(service.app, person, {
        tools: [functionTool('look')],
        max_output_tokens: 5,
        instructions: 'Be brief.',
      })
    ).body,
  )
  published('GET /v1/models', 'application/json')((await send(service.app, 'GET', '/v1/models', person)).body)
  const items = await send(service.app, 'GET', `/v1/responses/${plain.id}/input_items`, person)
  published('GET /v1/responses/{response_id}/input_items', 'application/json')(items.body)
})
