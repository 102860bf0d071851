import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Wire } from '../../support/data/response-grammar.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { readEvents } from '../../support/http/response-requests.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { completion, textFrames } from '../../support/upstream/chat-upstream.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([{ id: 'm' }])
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const exec = { type: 'custom', name: 'exec', description: 'Runs', format: { type: 'text' } }
const wait = { type: 'function', name: 'wait', strict: false, parameters: { type: 'object', properties: {} } }
const additional = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools })
const TOOLS = additional({ type: 'namespace', name: 'functions', description: 'Local', tools: [exec, wait] })
const user = (content: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text: content }] })

test('200: tools that come as an item are given to the model, and keep their namespaces and kinds', async () => {
  answerWith({ name: 'functions__exec', arguments: '{"input":"ls"}' })
  const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are Codex.' }] }
  const { status, body, headers } = await respond({ input: [TOOLS, developer, user('run ls')], store: false })
  assert.deepEqual([status, headers.get('x-dropped-items')], [200, null], JSON.stringify(body))
  assert.deepEqual(namesAsked(), ['functions__exec', 'functions__wait'])
  const { id: _, ...call } = body.output[0]
  const called = { call_id: 'c', name: 'exec', namespace: 'functions', input: 'ls' }
  assert.deepEqual(call, { type: 'custom_tool_call', status: 'completed', ...called })
})

test('200: such a tool can be chosen, replaces an earlier one of its name, and is named when it is not forwarded', async () => {
  const look = { type: 'function', name: 'look', description: 'Old' }
  const newer = additional({ ...look, description: 'New' }, { type: 'web_search' })
  const input = [TOOLS, additional(look), user('run ls'), newer]
  const tool_choice = { type: 'custom', name: 'exec', namespace: 'functions' }
  const { status, body, headers } = await respond({ input, tools: [wait], tool_choice })
  assert.deepEqual([status, headers.get('x-dropped-tools')], [200, 'web_search'], JSON.stringify(body))
  assert.deepEqual(namesAsked(), ['wait', 'functions__exec', 'functions__wait', 'look'])
  assert.equal(service.asked().tools[3].function.description, 'New')
  assert.deepEqual(service.asked().tool_choice, { type: 'function', function: { name: 'functions__exec' } })
  assert.equal((await respond({ input: [TOOLS, user('Hi')], tool_choice: 'required' })).status, 200)
})

test('400: tools of a request and of its context together are as many as those of a request', async () => {
  const hundred = (prefix: string) =>
    additional(...Array.from({ length: 100 }, (_, i) => ({ type: 'function', name: `${prefix}${i}` })))
  const { status, body } = await respond({ input: [hundred('a'), hundred('b'), user('Hi')] })
  assert.deepEqual([status, body.error?.param], [400, 'tools'])
  assert.equal((await respond({ input: [hundred('a'), hundred('a'), user('Hi')] })).status, 200)
})

test('200: a continuation has the tools of the items before it', async () => {
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Hello.' }) })
  const first = await respond({ input: [TOOLS, user('Hi')] })
  const { status, body } = await respond({
    input: [user('run ls')],
    previous_response_id: first.body.id,
    tool_choice: 'required',
  })
  assert.deepEqual([status, namesAsked()], [200, ['functions__exec', 'functions__wait']], JSON.stringify(body))
  const listed = await send(service.app, 'GET', `/v1/responses/${first.body.id}/input_items`, {
    key: service.person.key,
  })
  const { id, ...item } = listed.body.data[1]
  assert.match(id, /^at_/)
  assert.deepEqual(item, TOOLS)
})

test('400 for an item of tools that are wrong, with their path', async () => {
  const cases = [
    [additional({ type: 'function' }), 'missing_required_parameter', 'input[0].tools[0].name'],
    [additional(wait, wait), 'invalid_value', 'input[0].tools[1].name'],
    [{ type: 'additional_tools' }, 'missing_required_parameter', 'input[0].tools'],
  ] as const
  for (const [item, code, param] of cases) {
    const { status, body } = await respond({ input: [item, user('Hi')] })
    assert.deepEqual([status, body.error?.code, body.error?.param], [400, code, param])
  }
})

const TRIGGER = { type: 'compaction_trigger' }
const WORK = [user('Build it.'), { role: 'assistant', content: 'Built.' }]

test('200: a compaction trigger gives one compaction and nothing else, which continues like any', async () => {
  service.upstream.reply({ kind: 'json', body: completion({ content: 'It is built.' }) })
  const body = { input: [TOOLS, ...WORK, TRIGGER], reasoning: { effort: 'low' }, tool_choice: 'auto', store: false }
  const { status, body: made, headers } = await respond(body)
  assert.deepEqual([status, made.status, headers.get('x-dropped-items')], [200, 'completed', null])
  assert.deepEqual([service.asked().tools, service.asked().messages.length], [undefined, 3])
  const [{ id, encrypted_content, ...compaction }, ...others] = made.output
  assert.match(id, /^cmp_/)
  assert.deepEqual([compaction, others], [{ type: 'compaction' }, []])
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Going on.' }) })
  await respond({ input: [user('Build it.'), ...made.output, user('Go on.')] })
  assert.match(service.asked().messages[0].content, /It is built\.$/)
})

test('200: it is streamed as one item, and a response that continues from it has only messages of the user beside it', async () => {
  service.upstream.reply({ kind: 'stream', frames: textFrames(['It is ', 'built.']) })
  const { text } = await respond({ input: [TOOLS, ...WORK, TRIGGER], stream: true })
  const events: Wire[] = readEvents(text)
  assert.deepEqual(
    events.map(({ type }) => type.replace('response.', '')),
    ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'],
  )
  assert.equal(events[3]!.item.type, 'compaction')
  const { response } = events[4]!
  assert.equal(response.usage.output_tokens, 2)
  service.upstream.reply({ kind: 'json', body: completion({ content: 'Going on.' }) })
  const next = await respond({ previous_response_id: response.id, input: [user('Go on.')] })
  assert.equal(next.status, 200, JSON.stringify(next.body))
  const [summary, ...others] = service.asked().messages
  assert.match(summary.content, /It is built\.$/)
  assert.deepEqual(others, [{ role: 'user', content: 'Build it.\n\nGo on.' }])
  assert.deepEqual(namesAsked(), ['functions__exec', 'functions__wait'])
})

test('502 for a model that writes no summary, 400 for a compaction in the background', async () => {
  service.upstream.reply({ kind: 'json', body: completion({ content: ' ' }) })
  const none = await respond({ input: [...WORK, TRIGGER] })
  assert.deepEqual([none.status, none.body.error.code], [502, 'upstream_error'])
  const background = await respond({ input: [...WORK, TRIGGER], background: true })
  assert.deepEqual([background.status, background.body.error.param], [400, 'background'])
})

test('200: messages between agents are messages of the user, without what only another service can read', async () => {
  const envelope = { type: 'input_text', text: 'Message Type: NEW_TASK\nSender: /lead\nPayload:\n' }
  const payload = (encrypted_content: string) => ({ type: 'encrypted_content', encrypted_content })
  const message = (...content: object[]) => ({ type: 'agent_message', author: '/lead', recipient: '/lead/a', content })
  const sealed = payload(`gAAAAAB${'q-_8'.repeat(40)}==`)
  const input = [
    user('You help.'),
    message(envelope, payload('List files.')),
    message(envelope, sealed),
    message(sealed),
    { ...message(payload('Who?')), author: { toString: 1, valueOf: 1 }, recipient: undefined },
  ]
  const { status, headers } = await respond({ input, store: false })
  assert.deepEqual([status, headers.get('x-dropped-items')], [200, 'agent_message'])
  const sent = JSON.stringify(service.asked().messages)
  assert.match(sent, /From \/lead to \/lead\/a:\\nMessage Type: NEW_TASK\\nSender: \/lead\\nPayload:\\nList files\./)
  assert.equal(sent.split('NEW_TASK').length, 3)
  assert.match(sent, /From an agent to an agent:\\nWho\?/)
  assert.doesNotMatch(sent, /gAAAA/)
})

function answerWith(called: { name: string; arguments: string }): void {
  const tool_calls = [{ id: 'c', type: 'function', function: called }]
  const body = completion({ content: null, tool_calls }, { finish_reason: 'tool_calls' })
  service.upstream.reply({ kind: 'json', body })
}

function namesAsked(): string[] {
  return service.asked().tools?.map((tool: { function: { name: string } }) => tool.function.name)
}

function respond(body: object): Promise<HttpResponse> {
  return send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'm', ...body })
}
