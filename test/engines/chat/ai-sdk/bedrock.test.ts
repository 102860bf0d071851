import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import type { AiSdkChatOptions } from '../../../../server/engines/chat/ai-sdk/adapter.ts'
import { allEvents, chatEngineContract, textRequest } from '../contract.ts'
import { type Fault, faultTests, LEAK, openAiSdk, type Reply, status, tool, using } from './open.ts'

const MODEL = 'us.anthropic.claude-haiku-4-5-v1:0'

/**
 * One message of AWS's binary event streams: lengths, headers and payload, each part with its checksum.
 * Source: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html
 */
function frame(event: string, payload: object, type: 'event' | 'exception' = 'event'): Buffer {
  const header = (name: string, value: string) => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(value.length)
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)])
  }
  const headers = Buffer.concat([
    header(':message-type', type),
    header(`:${type}-type`, event),
    header(':content-type', 'application/json'),
  ])
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + body.length)
  prelude.writeUInt32BE(headers.length, 4)
  const sum = (bytes: Buffer) => {
    const written = Buffer.alloc(4)
    written.writeUInt32BE(crc32(bytes))
    return written
  }
  const message = Buffer.concat([prelude, sum(prelude), headers, body])
  return Buffer.concat([message, sum(message)])
}

const binary =
  (frames: readonly Buffer[]): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    for (const each of frames) response.write(each)
    response.end()
  }

const delta = (index: number, text: object) => frame('contentBlockDelta', { contentBlockIndex: index, delta: text })
const stop = (index: number) => frame('contentBlockStop', { contentBlockIndex: index })
const ended = (stopReason: string) => [
  frame('messageStop', { stopReason }),
  frame('metadata', {
    usage: { inputTokens: 12, outputTokens: 5, totalTokens: 107, cacheReadInputTokens: 90 },
    metrics: { latencyMs: 100 },
  }),
]
const BEGUN = frame('messageStart', { role: 'assistant' })
const TEXT = [
  BEGUN,
  delta(0, { reasoningContent: { text: 'Deep.' } }),
  stop(0),
  delta(1, { text: 'Waves ' }),
  delta(1, { text: 'roll.' }),
  stop(1),
  ...ended('end_turn'),
]

const bedrock = (more: Partial<AiSdkChatOptions> = {}) => openAiSdk('@ai-sdk/amazon-bedrock', binary(TEXT), more)
const asked = textRequest(MODEL, { max_tokens: 100 })

chatEngineContract('ai-sdk, Bedrock', async () => ({ ...(await bedrock()), model: MODEL }))

test('Bedrock: reasoning and text are emitted, and cached input is a part of the input', () =>
  using(bedrock(), async ({ engine }) => {
    assert.deepEqual(await allEvents(engine, asked), [
      { type: 'reasoning-delta', choice: 0, text: 'Deep.' },
      { type: 'text-delta', choice: 0, text: 'Waves ' },
      { type: 'text-delta', choice: 0, text: 'roll.' },
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'end', usage: { input: 102, cached_input: 90, output: 5, reasoning: 0 } },
    ])
  }))

test('Bedrock: a first frame whose length is the byte of a bracket is no JSON', () =>
  using(bedrock(), async ({ engine, reply }) => {
    for (const bracket of ['{', '[', '<']) {
      const bare = frame('messageStart', { role: 'assistant', p: '' }).length
      const length = 256 + bracket.charCodeAt(0)
      const first = frame('messageStart', { role: 'assistant', p: 'a'.repeat(length - bare) })
      assert.equal(first.length, length)
      reply(binary([first, ...TEXT.slice(1)]))
      assert.deepEqual((await allEvents(engine, asked)).at(-2), { type: 'finish', choice: 0, reason: 'stop' })
    }
  }))

test('Bedrock: a tool call, whose arguments come in pieces', () =>
  using(bedrock(), async ({ engine, reply }) => {
    const start = { toolUse: { toolUseId: 'call_1', name: 'tide' } }
    reply(
      binary([
        BEGUN,
        frame('contentBlockStart', { contentBlockIndex: 0, start }),
        delta(0, { toolUse: { input: '{"at":' } }),
        delta(0, { toolUse: { input: '"noon"}' } }),
        stop(0),
        ...ended('tool_use'),
      ]),
    )
    const events = await allEvents(engine, { ...asked, tools: [tool('tide')] })
    const calls = events.filter((event) => event.type === 'tool-call-delta')
    assert.deepEqual([calls[0]?.id, calls[0]?.name], ['call_1', 'tide'])
    assert.equal(calls.map((each) => each.arguments).join(''), '{"at":"noon"}')
    assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'tool_calls' })
  }))

test('Bedrock: the model is in the path, the key a bearer token; pictures and tool results reach the server', () =>
  using(bedrock(), async ({ engine, received }) => {
    await allEvents(engine, {
      ...asked,
      tools: [tool('tide')],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'High.' },
      ],
    })
    const { url, headers, body } = received[0]!
    assert.equal(decodeURIComponent(url), `/v1/model/${MODEL}/converse-stream`)
    assert.equal(headers.authorization, 'Bearer secret-key')
    const sent = JSON.stringify(body)
    for (const part of ['Be brief.', 'iVBORw0K', 'toolUse', 'toolResult', 'High.']) assert.ok(sent.includes(part), part)
  }))

test('Bedrock: with the keys of an AWS account in its settings, each request is signed by them', () =>
  using(
    bedrock({
      api_key: undefined,
      settings: { region: 'us-east-1', accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'account-secret' },
    }),
    async ({ engine, received }) => {
      await allEvents(engine, asked)
      const { authorization } = received[0]!.headers
      assert.match(
        String(authorization),
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/bedrock\/aws4_request, /,
      )
    },
  ))

const FAULTS: Fault[] = [
  ['status 400', 'rejected', status(400, { message: LEAK })],
  ['status 403', 'failed', status(403, { message: LEAK })],
  ['status 429', 'overloaded', status(429, { message: LEAK })],
  [
    'throttling in the middle',
    'overloaded',
    binary([...TEXT.slice(0, 4), frame('throttlingException', { message: LEAK }, 'exception')]),
  ],
  ['half a frame', 'failed', binary([...TEXT.slice(0, 4), TEXT[4]!.subarray(0, 20)])],
  ['a damaged frame', 'failed', binary([BEGUN, Buffer.from(TEXT[4]!.map((byte, i) => (i === 60 ? byte ^ 1 : byte)))])],
  ['a stream without a finish', 'failed', binary(TEXT.slice(0, 4))],
]
faultTests('Bedrock', { open: bedrock, asked, faults: FAULTS })
