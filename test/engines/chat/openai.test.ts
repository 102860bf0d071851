import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, ChatRequest } from '../../../server/engines/chat/contract.ts'
import { type OpenaiChatOptions, openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import {
  type ChatUpstream,
  chunk,
  completion,
  startChatUpstream,
  textFrames,
  UPSTREAM_MODEL,
  USAGE,
} from '../../support/upstream/chat-upstream.ts'
import { allEvents, assertEventOrder, chatEngineContract, live, textRequest } from './contract.ts'

const tools: ChatRequest['tools'] = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } },
]

chatEngineContract('openai', async () => {
  const upstream = await startChatUpstream()
  const engine = openaiChat({ kind: 'openai', base_url: upstream.url, model: 'm' })
  return { engine, model: 'm', asks: [textRequest('m', { tools })], close: upstream.close }
})

test('the upstream body holds what was asked for, each member by its name, and nothing else', () =>
  withUpstream({ api_key: 'sk-1', headers: { 'X-Team': 'a' } }, async ({ ask, upstream }) => {
    const sneaky = {
      ...textRequest('m', {
        max_tokens: 5,
        top_k: 3,
        user: 'u',
        stop: ['.'],
        seed: 7,
        extra: { min_tokens: 2, stream: true, n: 9 },
      }),
      api_base: 'http://evil',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: {} }], api_base: 'x' }],
    } as unknown as ChatRequest
    await ask(sneaky)
    const { json, headers, path } = await upstream.received()
    assert.deepEqual(json, {
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      stream: false,
      top_k: 3,
      seed: 7,
      stop: ['.'],
      max_completion_tokens: 5,
      user: 'u',
      min_tokens: 2,
    })
    assert.equal(path, '/v1/chat/completions')
    assert.equal(headers.authorization, 'Bearer sk-1')
    assert.equal(headers['x-team'], 'a')
  }))

test('a stream asks for usage; roles, limits and earlier reasoning are written as configured', async () => {
  const messages: ChatRequest['messages'] = [
    { role: 'developer', content: 'Be terse.' },
    { role: 'assistant', content: null, refusal: 'No.', reasoning: 'Hm.' },
  ]
  await withUpstream({}, async ({ ask, upstream }) => {
    await ask(textRequest('m', { stream: true, messages, max_tokens: 5 }))
    const json = (await upstream.received()).json!
    assert.deepEqual(json.stream_options, { include_usage: true })
    const [system, assistant] = json.messages as object[]
    assert.deepEqual(system, { role: 'system', content: 'Be terse.' })
    assert.deepEqual(assistant, { role: 'assistant', content: 'No.', refusal: 'No.' })
  })
  const configured = { developer_role: true, max_tokens_field: 'max_tokens', reasoning_content_input: true } as const
  await withUpstream(configured, async ({ ask, upstream }) => {
    await ask(textRequest('m', { messages, max_tokens: 5 }))
    const json = (await upstream.received()).json!
    assert.equal(json.max_tokens, 5)
    const [developer, assistant] = json.messages as Array<Record<string, unknown>>
    assert.equal(developer?.role, 'developer')
    assert.deepEqual([assistant?.reasoning_content, assistant?.reasoning], ['Hm.', 'Hm.'])
  })
})

test('a choice among allowed tools becomes those tools alone; no tools, no tool choice', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const other = { type: 'function' as const, function: { name: 'clock' } }
    const allowed_tools = { mode: 'required' as const, tools: [other] }
    await ask(textRequest('m', { tools: [...tools!, other], tool_choice: { type: 'allowed_tools', allowed_tools } }))
    const { json } = await upstream.received()
    assert.deepEqual([json?.tools, json?.tool_choice], [[other], 'required'])
    await ask(textRequest('m', { tool_choice: 'none', parallel_tool_calls: true }))
    const second = await upstream.received()
    assert.ok(!Object.hasOwn(second.json!, 'tool_choice') && !Object.hasOwn(second.json!, 'parallel_tool_calls'))
  }))

test('parallel_tool_calls is not sent to a server that rejects it', () =>
  withUpstream({ parallel_tool_calls: false }, async ({ ask, upstream }) => {
    await ask(textRequest('m', { tools, parallel_tool_calls: false }))
    const { json } = await upstream.received()
    assert.deepEqual([json?.tools, json?.parallel_tool_calls], [tools, undefined])
  }))

test('arguments of an earlier call that are no object go upstream as an empty one', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const call = { id: 'a', type: 'function' as const, function: { name: 'weather', arguments: '{"at":"no' } }
    const messages: ChatRequest['messages'] = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'The arguments are no JSON.' },
    ]
    await ask(textRequest('m', { messages }))
    const [assistant] = (await upstream.received()).json!.messages as Array<{ tool_calls: Array<typeof call> }>
    assert.equal(assistant!.tool_calls[0]!.function.arguments, '{}')
  }))

test('nothing of the upstream shows in the events: no model, no id, no fingerprint', () =>
  withUpstream({}, async ({ ask }) => {
    for (const stream of [false, true]) {
      const text = JSON.stringify(await ask(textRequest('m', { stream })))
      assert.ok(!text.includes(UPSTREAM_MODEL) && !text.includes('chatcmpl') && !text.includes('fp_'))
    }
  }))

test('a plain answer is one upstream call without streaming, unless the entry has stream_plain', async () => {
  const request = textRequest('m')
  const whole = await withUpstream({}, async ({ ask, upstream }) => {
    const events = await ask(request)
    assert.equal((await upstream.received()).json?.stream, false)
    return events
  })
  const streamed = await withUpstream({ stream_plain: true }, async ({ ask, upstream }) => {
    const events = await ask(request)
    assert.equal((await upstream.received()).json?.stream, true)
    return events
  })
  assert.deepEqual(
    streamed.filter(({ type }) => type !== 'finishing'),
    whole,
  )
})

test('a server that streams unasked, or does not stream when asked, is still understood', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    upstream.reply(
      { kind: 'stream', frames: textFrames(['Hi']) },
      { kind: 'json', body: completion({ content: 'Hi' }) },
    )
    for (const stream of [false, true]) assert.equal(textOf(await ask(textRequest('m', { stream }))), 'Hi')
  }))

test('one connection serves requests one after another', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    for (let i = 0; i < 20; i++) await ask(textRequest('m', { stream: i % 2 === 0 }))
    assert.ok(upstream.connections().all <= 2, `${upstream.connections().all} connections`)
  }))

test('a client that does not read slows the upstream down, and a disconnect ends the call at once', () =>
  withUpstream({}, async ({ engine, upstream }) => {
    upstream.reply({ kind: 'flood', frame: chunk({ content: 'x'.repeat(200) }) })
    const events = await engine.generate(textRequest('m', { stream: true }), live())
    await upstream.received()
    let before = -1
    while (before !== upstream.flooded()) {
      before = upstream.flooded()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.ok(before < 16 * 1024 * 1024, `${before} bytes went out to nobody`)
    let taken = 0
    for await (const batch of events) {
      taken += batch.length
      if (taken > 50_000) break
    }
    await upstream.left()
    assert.ok(upstream.flooded() > before, 'reading set it going again')
  }))

test('a request given up while it waits for a connection is never sent', () =>
  withUpstream({ connections: 1 }, async ({ engine, ask, upstream }) => {
    upstream.reply({ kind: 'stall' })
    const first = ask(textRequest('m'))
    await upstream.received()
    const leaving = new AbortController()
    const second = engine.generate(textRequest('m', { user: 'second' }), leaving.signal)
    leaving.abort(new Error('gone'))
    await assert.rejects(second, /gone/)
    upstream.release()
    assertEventOrder(await first, 1)
    assertEventOrder(await ask(textRequest('m')), 1)
    assert.ok(upstream.requests.every(({ json }) => json?.user === undefined))
  }))

test('a cancellation ends the upstream call at once: before the head, and in the middle', () =>
  withUpstream({}, async ({ engine, upstream }) => {
    const early = new AbortController()
    upstream.reply({ kind: 'stall' })
    const waiting = engine.generate(textRequest('m'), early.signal)
    await upstream.received()
    early.abort(new Error('gone'))
    await assert.rejects(waiting, /gone/)
    await upstream.left()

    const late = new AbortController()
    upstream.reply({ kind: 'stream', frames: [chunk({ content: 'a' })], done: false, finally: 'stall' })
    const events = (await engine.generate(textRequest('m', { stream: true }), late.signal))[Symbol.asyncIterator]()
    await events.next()
    const next = events.next()
    late.abort(new Error('gone'))
    await assert.rejects(next, /gone/)
    await upstream.left()
  }))

test('usage that came and every event reach the consumer in the order of the stream', () =>
  withUpstream({}, async ({ ask, upstream }) => {
    const text = Array.from({ length: 40 }, (_, i) => `${i} 🌊é `)
    for (const piece_bytes of [1, 7, 4096]) {
      upstream.reply({ kind: 'stream', frames: textFrames(text), line_break: '\r\n', piece_bytes })
      const events = await ask(textRequest('m', { stream: true }))
      assertEventOrder(events, 1)
      assert.equal(textOf(events), text.join(''))
      const usage = { input: USAGE.prompt_tokens, cached_input: 0, output: USAGE.completion_tokens, reasoning: 0 }
      assert.deepEqual(events.at(-1), { type: 'end', usage })
    }
  }))

type Subject = {
  upstream: ChatUpstream
  engine: ReturnType<typeof openaiChat>
  ask(request: ChatRequest): Promise<ChatEvent[]>
}

async function withUpstream<T>(
  options: Partial<OpenaiChatOptions>,
  body: (subject: Subject) => Promise<T>,
): Promise<T> {
  const upstream = await startChatUpstream()
  const engine = openaiChat({ kind: 'openai', base_url: upstream.url, ...options })
  try {
    return await body({ upstream, engine, ask: (request) => allEvents(engine, request) })
  } finally {
    await engine.close?.()
    await upstream.close()
  }
}

function textOf(events: readonly ChatEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')
}
