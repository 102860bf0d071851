import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aiSdkChat } from '../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatRequest } from '../../../server/engines/chat/contract.ts'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError, type EngineErrorKind } from '../../../server/engines/engine-error.ts'
import { startChatUpstream } from '../../support/upstream/chat-upstream.ts'
import { allEvents, textRequest } from './contract.ts'

type Refusal = [
  what: string,
  status: number,
  body: unknown,
  kind: EngineErrorKind,
  param: string | null,
  reason: RegExp,
]
const SYSTEM = 'System message must be at the beginning.'

/** What servers say of a request, whose fault it is, the field that is named to the client, and what the log has of it. */
const REFUSALS: Refusal[] = [
  [
    '400 in words',
    400,
    { error: { message: SYSTEM, type: 'BadRequestError', code: 400 } },
    'rejected',
    null,
    /beginning/,
  ],
  ['400 as a text', 400, { error: SYSTEM }, 'rejected', null, /beginning/],
  [
    '400 in a list, as Gemini',
    400,
    [{ error: { code: 400, message: SYSTEM, status: 'X' } }],
    'rejected',
    null,
    /beginning/,
  ],
  [
    '400 of a provider behind OpenRouter',
    400,
    {
      error: { message: 'Provider returned error', code: 400, metadata: { raw: `{"error":{"message":"${SYSTEM}"}}` } },
    },
    ...(['rejected', null, /beginning/] as const),
  ],
  ['param', 400, { error: { message: 'Bad.', param: 'temperature' } }, 'rejected', 'temperature', /Bad/],
  [
    'param within messages',
    400,
    { error: { message: 'Bad.', param: 'messages[3].content' } },
    'rejected',
    'messages',
    /Bad/,
  ],
  ['a field in quotes', 400, { error: { message: "Unsupported parameter: 'top_k'" } }, 'rejected', 'top_k', /top_k/],
  ['a field in words', 400, { message: 'logprobs are not supported' }, 'rejected', 'logprobs', /logprobs/],
  [
    "FastAPI's detail",
    422,
    { detail: [{ loc: ['body', 'top_k'], msg: 'Extra inputs are not permitted' }] },
    ...(['rejected', 'top_k', /Extra inputs/] as const),
  ],
  [
    "Mistral's detail",
    422,
    { object: 'error', message: { detail: [{ loc: ['body', 'tools', 0, 'function'], msg: 'Field required' }] } },
    ...(['rejected', 'tools[0].function', /Field required/] as const),
  ],
  ['413', 413, { error: { message: 'Too many images' } }, 'rejected', null, /Too many images/],
  [
    '404 of a request',
    404,
    { error: { message: 'No endpoints found that support tool use' } },
    'rejected',
    null,
    /tool use/,
  ],
  [
    'a field of the client that is not ours',
    400,
    { error: { message: 'Bad.', param: 'api_base' } },
    'rejected',
    null,
    /Bad/,
  ],
  [
    'an unknown model',
    404,
    { error: { message: 'model "x" not found, try pulling it first' } },
    'failed',
    null,
    /pulling/,
  ],
  ['an unknown model, by param', 400, { error: { message: 'Bad.', param: 'model' } }, 'failed', null, /Bad/],
  ['an unknown model, by code', 400, { error: { message: 'Bad.', code: 'model_not_found' } }, 'failed', null, /Bad/],
  ['an unknown path', 404, { detail: 'Not Found' }, 'failed', null, /Not Found/],
  ['another name, by code', 400, { error: { message: 'Bad.', code: 'too_many_images' } }, 'rejected', null, /Bad/],
  [
    'a size by minute',
    413,
    { error: { message: 'Request too large', type: 'tokens', code: 'rate_limit_exceeded' } },
    ...(['rejected', null, /too large/] as const),
  ],
  [
    'a tool that the model named',
    400,
    { error: { message: 'The model called the tool look, which was not found in the request' } },
    ...(['rejected', null, /look/] as const),
  ],
  [
    'a file',
    400,
    { error: { message: 'This model reads files, but file f1 was not found' } },
    ...(['rejected', null, /f1/] as const),
  ],
  ...[
    'The model `x/y:z` does not exist or you do not have access to it.',
    'Model Not Exist',
    'models/x is not found for API version v1beta',
    'The requested model x is not available',
    'Model with name "x y" could not be found',
    'Invalid model: x',
  ].map((message): Refusal => [message, 400, { error: { message } }, 'failed', null, /./]),
  [
    "Azure's content filter",
    400,
    { error: { message: 'The response was filtered.', param: 'prompt', code: 'content_filter' } },
    ...(['moderation', null, /filtered/] as const),
  ],
  [
    'a request that is too long',
    400,
    { error: 'prompt too long; exceeded max context length by 808 tokens' },
    'context_length',
    null,
    /808/,
  ],
]

const ENGINES = {
  openai: (url: string, log: Log) => openaiChat({ kind: 'openai', base_url: url }, { log }),
  'ai-sdk': (url: string, log: Log) =>
    aiSdkChat(
      {
        ...{ kind: 'ai-sdk', package: '@ai-sdk/openai-compatible', base_url: url, api_key: 'key' },
        settings: { name: 'upstream', includeUsage: true },
      },
      { log },
    ),
}
type Log = { error(event: string, fields?: object): void; warn(): void; info(): void; debug(): void }

for (const [engine, open] of Object.entries(ENGINES)) {
  test(`${engine}: the reason of a refusal is kept, with its field, and an operator's mistake is not the client's`, async () => {
    const upstream = await startChatUpstream()
    const alarms: object[] = []
    const quiet = () => {}
    const log = { error: (_: string, fields = {}) => void alarms.push(fields), warn: quiet, info: quiet, debug: quiet }
    const chat = open(upstream.url, log)
    const request: ChatRequest = textRequest('m', { stream: true })
    try {
      for (const [what, status, body, kind, param, reason] of REFUSALS) {
        const alarmed = alarms.length
        upstream.reply({ kind: 'json', status, body })
        const error = await allEvents(chat, request, new AbortController().signal).catch((thrown: unknown) => thrown)
        assert.ok(error instanceof EngineError, what)
        assert.deepEqual([what, error.kind, error.param ?? null], [what, kind, param])
        assert.match(error.reason ?? '', reason, what)
        assert.ok(!JSON.stringify(error).includes(error.reason!), `${what}: written out by accident`)
        assert.equal(alarms.length, alarmed + (kind === 'failed' ? 1 : 0), what)
      }
    } finally {
      await chat.close?.()
      await upstream.close()
    }
  })
}
