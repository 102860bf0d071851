import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AiSdkChatOptions } from '../../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatRequest } from '../../../../server/engines/chat/contract.ts'
import { allEvents, chatEngineContract, textRequest } from '../contract.ts'
import { type Fault, faultOf, faultTests, LEAK, openAiSdk, status, stream, tool, using } from './open.ts'

const MODEL = 'gemini-2.5-flash'
const GEMINI_TEXT = [
  { candidates: [{ content: { role: 'model', parts: [{ text: 'Deep.', thought: true }] } }] },
  { candidates: [{ content: { role: 'model', parts: [{ text: 'Waves roll.' }] } }] },
  {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: 20,
      cachedContentTokenCount: 8,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 3,
      totalTokenCount: 27,
    },
  },
]

const gemini = (more: Partial<AiSdkChatOptions> = {}) => openAiSdk('@ai-sdk/google', stream(GEMINI_TEXT), more)
const asked = textRequest(MODEL, { max_tokens: 100 })

chatEngineContract('ai-sdk, Gemini', async () => ({ ...(await gemini()), model: MODEL }))

test('Gemini: reasoning is emitted before the text and counted as a part of the output', () =>
  using(gemini(), async ({ engine }) => {
    assert.deepEqual(await allEvents(engine, asked), [
      { type: 'reasoning-delta', choice: 0, text: 'Deep.' },
      { type: 'text-delta', choice: 0, text: 'Waves roll.' },
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'end', usage: { input: 20, cached_input: 8, output: 7, reasoning: 3 } },
    ])
  }))

test('Gemini: an answer in one JSON text, or in a list of its pieces, is read in place of the stream', () =>
  using(gemini(), async ({ engine, reply }) => {
    const candidates = [{ content: { role: 'model', parts: [{ text: 'Waves.' }] }, finishReason: 'STOP' }]
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 }
    for (const body of [{ candidates, usageMetadata }, GEMINI_TEXT]) {
      reply(status(200, body))
      const events = await allEvents(engine, asked)
      assert.match(JSON.stringify(events[events.length - 3]), /Waves/)
      assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'stop' })
    }
  }))

test('Gemini: an answer with its reason and usage is complete, although the connection stays open or is lost', async () => {
  for (const more of [{}, { idle_seconds: 0.2 }])
    await using(gemini(more), async ({ engine, reply }) => {
      reply(stream(GEMINI_TEXT, { cut: true }))
      assert.deepEqual((await allEvents(engine, asked)).at(-2), { type: 'finish', choice: 0, reason: 'stop' })
      reply(stream(GEMINI_TEXT.slice(0, 2), { cut: true }))
      if (more.idle_seconds) assert.equal((await faultOf(engine, asked)).kind, 'timeout')
    })
})

test('Gemini: tokens that only its total has are reported beside the usage, or are the output', () =>
  using(gemini(), async ({ engine, reply }) => {
    const parts = [{ text: 'Deep.', thought: true }, { text: 'Waves.' }]
    for (const [usageMetadata, usage] of [
      [
        { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 113 },
        { input: 9, output: 4, unlisted: 100 },
      ],
      [
        { promptTokenCount: 9, totalTokenCount: 113 },
        { input: 9, output: 104 },
      ],
      [
        { promptTokenCount: 9, candidatesTokenCount: 4, toolUsePromptTokenCount: 100, totalTokenCount: 113 },
        { input: 109, output: 4 },
      ],
      [
        { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 4 },
        { input: 9, output: 4 },
      ],
    ] as const) {
      reply(stream([{ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata }]))
      const events = await allEvents(engine, asked)
      assert.deepEqual(events.at(-1), { type: 'end', usage: { ...usage, cached_input: 0, reasoning: 0 } })
    }
  }))

test('Gemini: a tool call, its arguments as JSON text', () =>
  using(gemini(), async ({ engine, reply }) => {
    const call = { functionCall: { name: 'tide', args: { at: 'noon' } } }
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 }
    reply(
      stream([{ candidates: [{ content: { role: 'model', parts: [call] }, finishReason: 'STOP' }], usageMetadata }]),
    )
    const events = await allEvents(engine, { ...asked, tools: [tool('tide')] })
    const calls = events.filter((event) => event.type === 'tool-call-delta')
    assert.equal(calls[0]?.name, 'tide')
    assert.ok(calls[0]?.id)
    assert.deepEqual(JSON.parse(calls.map((each) => each.arguments).join('')), { at: 'noon' })
    assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'tool_calls' })
  }))

test('Gemini: the signature of a call is emitted with it and goes back with the next request', () =>
  using(gemini(), async ({ engine, reply, received }) => {
    const part = { functionCall: { name: 'tide', args: {} }, thoughtSignature: 'c2lnbmVk' }
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 }
    reply(
      stream([{ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }], usageMetadata }]),
    )
    const events = await allEvents(engine, { ...asked, tools: [tool('tide')] })
    const calls = events.filter((event) => event.type === 'tool-call-delta')
    const [extra_content] = calls.flatMap((event) => event.extra_content ?? [])
    assert.deepEqual(extra_content, { google: { thought_signature: 'c2lnbmVk' } })
    assert.equal(calls.map((each) => each.arguments).join(''), '{}')
    const called = { type: 'function' as const, function: { name: 'tide', arguments: '{}' } }
    await allEvents(engine, {
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', ...called, extra_content: extra_content! }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'High.' },
      ],
    })
    assert.match(JSON.stringify(received.at(-1)!.body), /"thoughtSignature":"c2lnbmVk"/)
  }))

test('Gemini: the results of parallel calls are one turn, as many parts as calls, and broken arguments are an object', () =>
  using(gemini(), async ({ engine, received }) => {
    const call = (id: string, text: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'tide', arguments: text },
    })
    await allEvents(engine, {
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', content: null, tool_calls: [call('a', '{"at":"noon"}'), call('b', '{"at":"ni')] },
        { role: 'tool', tool_call_id: 'a', content: 'High.' },
        { role: 'tool', tool_call_id: 'b', content: 'The arguments are no JSON.' },
      ],
    })
    const [, calls, results] = (received[0]!.body as { contents: Array<{ parts: object[] }> }).contents
    const args = [{ at: 'noon' }, {}]
    assert.deepEqual(
      calls!.parts.map((part) => (part as { functionCall: { args: object } }).functionCall.args),
      args,
    )
    assert.deepEqual(results!.parts.map(Object.keys), [['functionResponse'], ['functionResponse']])
  }))

test('Gemini: a message of the assistant without anything that it takes is not sent', () =>
  using(gemini(), async ({ engine, received }) => {
    const user = (content: string) => ({ role: 'user' as const, content })
    await allEvents(engine, {
      ...asked,
      messages: [
        user('Hi'),
        { role: 'assistant', content: '\n' },
        user('Are you there?'),
        { role: 'assistant', content: null, reasoning: 'Hm.' },
        user('So?'),
        { role: 'assistant', content: '', refusal: 'No.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'Why?' },
          ],
        },
      ],
    })
    assert.deepEqual((received[0]!.body as { contents: object[] }).contents, [
      { role: 'user', parts: [{ text: 'Hi\n\nAre you there?\n\nSo?' }] },
      { role: 'model', parts: [{ text: 'No.' }] },
      { role: 'user', parts: [{ text: 'Why?' }] },
    ])
  }))

test('Gemini: images, PDF, sound, tool results and a schema reach the server in its own words', () =>
  using(gemini(), async ({ engine, received }) => {
    const schema = { type: 'object', properties: { tide: { type: 'string' } }, required: ['tide'] }
    await allEvents(engine, {
      ...asked,
      response_format: { type: 'json_schema', json_schema: { name: 'tide', schema } },
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look and listen.' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } },
            { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{"at":"noon"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'High.' },
      ],
    })
    const { url, headers, body } = received[0]!
    assert.match(url, /\/models\/gemini-2\.5-flash:streamGenerateContent\?alt=sse$/)
    assert.equal(headers['x-goog-api-key'], 'secret-key')
    assert.ok(!url.includes('secret-key'))
    const sent = JSON.stringify(body)
    for (const part of [
      'Be brief.',
      'image/png',
      'iVBORw0K',
      'audio/wav',
      'UklGRg==',
      'functionCall',
      'functionResponse',
      'High.',
    ])
      assert.ok(sent.includes(part), part)
    const { generationConfig } = body as { generationConfig: Record<string, unknown> }
    assert.equal(generationConfig.responseMimeType, 'application/json')
    assert.equal(generationConfig.maxOutputTokens, 100)
  }))

test('Gemini: parallel_tool_calls, which it does not have, is left out: Codex sends false to every model', () =>
  using(gemini(), async ({ engine, received }) => {
    await allEvents(engine, { ...asked, tools: [tool('tide')], parallel_tool_calls: false })
    assert.doesNotMatch(JSON.stringify(received[0]!.body), /parallel/i)
  }))

test('Gemini: system messages anywhere are one at the start, which it does not take otherwise', async () => {
  const user = { role: 'user' as const, content: 'Hi' }
  const messages: ChatRequest['messages'] = [
    { role: 'system', content: 'One.' },
    user,
    { role: 'developer', content: 'Two.' },
    user,
  ]
  await using(gemini(), async ({ engine, received }) => {
    await allEvents(engine, { ...asked, messages })
    assert.deepEqual(received[0]!.body.systemInstruction, { parts: [{ text: 'One.\n\nTwo.' }] })
  })
  await using(gemini({ system_messages: 'separate' }), async ({ engine, received }) => {
    const error = await faultOf(engine, { ...asked, messages })
    assert.deepEqual([error.kind, error.param, received.length], ['rejected', 'messages', 0])
  })
})

const failure = (code: number, name: string, message = LEAK) => ({ error: { code, status: name, message } })
const BLOCKED = [{ candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'SAFETY' }] }]
const FAULTS: Fault[] = [
  ['status 400', 'rejected', status(400, failure(400, 'INVALID_ARGUMENT'))],
  ['status 403', 'failed', status(403, failure(403, 'PERMISSION_DENIED'))],
  ['status 429', 'overloaded', status(429, failure(429, 'RESOURCE_EXHAUSTED'))],
  ['status 503 with HTML', 'overloaded', status(503, `<html>${LEAK}</html>`, { 'content-type': 'text/html' })],
  ['a stream without a finish', 'failed', stream(GEMINI_TEXT.slice(0, 2))],
]
faultTests('Gemini', { open: gemini, asked, faults: FAULTS })

test('Gemini: an answer that its filter ends has the finish reason content_filter', () =>
  using(gemini(), async ({ engine, reply }) => {
    reply(stream(BLOCKED))
    const events = await allEvents(engine, asked)
    assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'content_filter' })
  }))
