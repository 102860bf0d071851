import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEngine, ChatEvent, ChatRequest } from '../../../server/engines/chat/contract.ts'
import { fanOut } from '../../../server/engines/chat/fan-out.ts'
import { type OpenaiChatEnv, type OpenaiChatOptions, openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { type ChatUpstream, startChatUpstream } from '../../support/upstream/chat-upstream.ts'
import { allEvents, assertEventOrder, textRequest } from './contract.ts'

test('what a server refuses of the way in which we write requests is left out of this one and of later ones', async () => {
  const error = (message: string, param: string | null = null) => ({ error: { message, param } })
  const extra = (...loc: unknown[]) => ({ detail: [{ loc: ['body', ...loc], msg: 'Extra inputs are not permitted' }] })
  const id = 'functions.tide:0'
  const call = { id, type: 'function' as const, function: { name: 'weather', arguments: '{}' } }
  const messages: ChatRequest['messages'] = [
    { role: 'assistant', content: null, tool_calls: [{ ...call, extra_content: { google: {} } }] },
    { role: 'tool', tool_call_id: id, content: 'Rain.' },
  ]
  type Json = { messages: [{ tool_calls: Array<typeof call & { extra_content?: object }> }, { tool_call_id: string }] }
  const calls = ({ messages: [{ tool_calls }, { tool_call_id }] }: Json) => [tool_calls[0]!.id, tool_call_id]
  const cases: ReadonlyArray<
    [body: object, member: (json: Json & Record<string, unknown>) => unknown, then: unknown, setting?: RegExp]
  > = [
    // Azure's Mistral: https://github.com/NousResearch/hermes-agent/issues/9705
    [extra('stream_options', 'include_usage'), (json) => json.stream_options, undefined],
    // Mistral: https://github.com/editor-code-assistant/eca/issues/231
    [
      { object: 'error', message: extra('max_completion_tokens'), type: 'invalid_request_error' },
      (json) => [json.max_completion_tokens, json.max_tokens],
      [undefined, 5],
      /max_tokens_field: max_tokens/,
    ],
    [
      extra('messages', 0, 'tool_calls', 0, 'extra_content'),
      (json) => json.messages[0].tool_calls[0]!.extra_content,
      undefined,
    ],
    // https://github.com/zed-industries/zed/issues/53034
    [error(`Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`), calls, ['2e061de36', '2e061de36']],
    [
      error("Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40."),
      calls,
      ['2e061de36', '2e061de36'],
    ],
  ]
  for (const [body, member, then, setting] of cases) {
    await withUpstream({}, async ({ ask, upstream, alarms, warnings }) => {
      const request = textRequest('m', { stream: true, messages, max_tokens: 5 })
      upstream.reply({ kind: 'json', status: 422, body })
      for (let i = 0; i < 2; i++) assertEventOrder(await ask(request), 1)
      const sent = upstream.requests.map(({ json }) => member(json as Json & Record<string, unknown>))
      assert.equal(sent.length, 3, JSON.stringify(body))
      assert.notDeepEqual(sent[0], then)
      // No setting leaves these out; only the name of the limit is a setting.
      const logged = setting === undefined ? [[], [/nothing to set/]] : [[setting], []]
      for (const [i, lines] of [alarms, warnings].entries()) {
        assert.equal(lines.length, logged[i]!.length, lines.join())
        for (const [j, pattern] of logged[i]!.entries()) assert.match(lines[j]!, pattern)
      }
      assert.deepEqual(sent.slice(1), [then, then])
    })
  }
})

test('a model that wants its reasoning back gets it, or a blank one, although the configuration does not say so', async () => {
  const call = { id: 'a', type: 'function' as const, function: { name: 'weather', arguments: '{}' } }
  const called = (more: { reasoning?: string }): ChatRequest['messages'] => [
    { role: 'assistant', content: null, tool_calls: [call], ...more },
    { role: 'tool', tool_call_id: 'a', content: 'Rain.' },
  ]
  // https://github.com/JohnnyZ93/oai-compatible-copilot/issues/215, https://github.com/continuedev/continue/issues/11711
  for (const message of [
    'The reasoning_content in the thinking mode must be passed back to the API.',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  ]) {
    await withUpstream({}, async ({ ask, upstream, alarms, engine }) => {
      const fanned = fanOut(engine)
      assert.deepEqual([engine.takes_reasoning, fanned.takes_reasoning], [false, false])
      upstream.reply({ kind: 'json', status: 400, body: { error: { message } } })
      await ask(textRequest('m', { messages: [...called({ reasoning: 'Hm.' }), ...called({})] }))
      const sent = upstream.requests.at(1)!.json!.messages as Array<{ reasoning_content?: string }>
      assert.deepEqual([sent[0]!.reasoning_content, sent[2]!.reasoning_content], ['Hm.', ' '])
      assert.match(alarms.join(), /reasoning_content_input/)
      // From now on clients are given the reasoning to send back.
      assert.deepEqual([engine.takes_reasoning, fanned.takes_reasoning], [true, true])
    })
  }
})

test('what two requests learn of a server at once is left out of later ones, both of it', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const refuse = (message: string) => upstream.reply({ kind: 'json', status: 400, body: { error: { message } } })
    refuse('Unknown field: stream_options')
    refuse("Unsupported parameter: 'max_completion_tokens'")
    const request = textRequest('m', { stream: true, max_tokens: 5 })
    await Promise.all([ask(request), ask(request)])
    await ask(request)
    const { stream_options, max_completion_tokens, max_tokens } = upstream.requests.at(-1)!.json!
    assert.deepEqual([stream_options, max_completion_tokens, max_tokens], [undefined, undefined, 5])
    assert.equal(upstream.requests.length, 5)
  }))

test('all forms of a request have the time of one', { timeout: 20_000 }, async () => {
  const total_seconds = 1000
  for (const [spent_seconds, requests, kind] of [
    [total_seconds, 1, 'rejected'],
    [total_seconds - 0.1, 2, 'timeout'],
  ] as const) {
    let now = 0
    const chance = { random: Math.random, now: () => now }
    const spend = async ({ ask, upstream }: Subject) => {
      upstream.reply({ kind: 'json', status: 400, body: { error: { message: 'Unknown field: stream_options' } } })
      upstream.reply({ kind: 'stall' })
      const asked = ask(textRequest('m', { stream: true }))
      await upstream.received()
      now = spent_seconds * 1000
      await assert.rejects(asked, { kind })
      assert.equal(upstream.requests.length, requests)
    }
    await withUpstream({ total_seconds, idle_seconds: total_seconds }, spend, { chance })
  }
})

test('a server that only streams, or that knows the newer name of the limit alone, is asked so', () =>
  withUpstream({ max_tokens_field: 'max_tokens' }, async ({ ask, upstream }) => {
    const refuse = (message: string) => upstream.reply({ kind: 'json', status: 400, body: { error: { message } } })
    // https://github.com/langchain4j/langchain4j/issues/3974
    refuse('parameter.enable_thinking must be set to false for non-streaming calls')
    assertEventOrder(await ask(textRequest('m')), 1)
    refuse("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
    await ask(textRequest('m', { max_tokens: 5 }))
    const sent = upstream.requests.map(({ json }) => [json!.stream, json!.max_tokens, json!.max_completion_tokens])
    const none = [undefined, undefined]
    assert.deepEqual(sent, [
      [false, ...none],
      [true, ...none],
      [true, 5, undefined],
      [true, undefined, 5],
    ])
  }))

test('a server that turns out not to know the role developer gets system', () =>
  withUpstream({ developer_role: true }, async ({ ask, upstream, alarms }) => {
    // DashScope
    const message = "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['0].role'"
    upstream.reply({ kind: 'json', status: 400, body: { error: { message, code: 'invalid_parameter_error' } } })
    await ask(textRequest('m', { messages: [{ role: 'developer', content: 'Be terse.' }] }))
    const roles = upstream.requests.map(({ json }) => (json!.messages as Array<{ role: string }>)[0]!.role)
    assert.deepEqual(roles, ['developer', 'system'])
    assert.match(alarms.join(), /developer_role: false/)
  }))

test('a conversation in the wrong order is not sent again in another form', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const message = 'Invalid tool_call_id: tool messages must be a response to a preceding message with tool_calls.'
    upstream.reply({ kind: 'json', status: 400, body: { error: { message } } })
    await assert.rejects(ask(textRequest('m')), { kind: 'rejected' })
    assert.equal(upstream.requests.length, 1)
  }))

test('a refusal of the value of a limit is not taken for one of its name', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const message = 'max_completion_tokens is too large: 5. This model supports at most 4 completion tokens.'
    upstream.reply({ kind: 'json', status: 400, body: { error: { message, param: 'max_completion_tokens' } } })
    await assert.rejects(ask(textRequest('m', { max_tokens: 5 })), { kind: 'rejected', param: 'max_completion_tokens' })
    assert.equal(upstream.requests.length, 1)
  }))

type Subject = {
  upstream: ChatUpstream
  engine: ChatEngine
  alarms: string[]
  warnings: string[]
  ask(request: ChatRequest): Promise<ChatEvent[]>
}

async function withUpstream(
  options: Partial<OpenaiChatOptions>,
  body: (subject: Subject) => Promise<void>,
  env: Pick<OpenaiChatEnv, 'chance'> = {},
): Promise<void> {
  const upstream = await startChatUpstream()
  const alarms: string[] = []
  const warnings: string[] = []
  const into =
    (lines: string[]) =>
    (event: string, fields: object = {}) =>
      void lines.push(event + JSON.stringify(fields))
  const log = { error: into(alarms), warn: into(warnings) }
  const engine = openaiChat({ kind: 'openai', base_url: upstream.url, ...options }, { log, ...env })
  try {
    await body({ upstream, engine, alarms, warnings, ask: (request) => allEvents(engine, request) })
  } finally {
    await engine.close?.()
    await upstream.close()
  }
}
