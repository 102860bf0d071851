import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { aiSdkChat } from '../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatEngine, ChatRequest } from '../../../server/engines/chat/contract.ts'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError, type EngineErrorKind } from '../../../server/engines/engine-error.ts'
import { type ChatUpstream, startChatUpstream, type UpstreamReply } from '../../support/upstream/chat-upstream.ts'
import {
  BUSY,
  EMPTY_ACCOUNTS,
  FILTERED,
  INSTEAD,
  MISWRITTEN,
  OPERATORS_MATTERS,
  PLACES,
  type Wording,
} from '../../support/upstream/refusal-wordings.ts'
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
        kind: 'ai-sdk',
        package: '@ai-sdk/openai-compatible',
        base_url: url,
        api_key: 'key',
        settings: { name: 'upstream', includeUsage: true },
      },
      { log },
    ),
}
type Log = { error(event: string, fields?: object): void; warn(): void; info(): void; debug(): void }

type Row = [what: string, reply: UpstreamReply, kind: string, param: string | null, reason: RegExp]

const sent = (status: number, body: unknown): UpstreamReply => ({
  kind: 'json',
  status,
  body,
  ...(typeof body === 'string' && { type: 'text/plain' }),
})
const worded = (kind: string, wordings: readonly Wording[]) =>
  wordings.map(([server, status, body, reason]): Row => [server, sent(status, body), kind, null, reason])

const OVERFLOW = 'prompt is too long: 200001 tokens > 200000 maximum'
/** What a client asks about the errors of models. A server may repeat it. */
const ASKED = `Why does it say that the model gpt-9 does not exist, then invalid api key, content exists risk, and ${OVERFLOW}? What is temperature?`

const ECHOES = 'words of the request are not taken for those of the server'

const EMPTY = 'an account without a balance is the matter of the operator, and busy'
const WRONG = 'what the model wrote wrong is no fault of the request'

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'the reason of a refusal is kept, with its field, and the fault of the operator is not of the client': REFUSALS.map(
    ([what, status, body, kind, param, reason]) => [what, sent(status, body), kind, param, reason],
  ),
  'a model, an address or an account that does not work is the matter of the operator': worded(
    'failed',
    OPERATORS_MATTERS,
  ),
  [EMPTY]: worded('overloaded', EMPTY_ACCOUNTS),
  'a server without capacity is busy': worded('overloaded', BUSY),
  [WRONG]: worded('failed', MISWRITTEN),
  "the server's own filter is named": worded('moderation', FILTERED),
  'the reason is found wherever servers write it': worded('rejected', PLACES).map(([what, reply, kind, , reason]) => [
    ...[what, reply, kind],
    ...[/seed/.test(JSON.stringify(reply)) ? 'seed' : null, reason],
  ]) as Row[],
  'the reason of an error in the place of an answer is kept': INSTEAD.map(([what, reply, kind, reason]) => [
    ...([what, reply, kind] as const),
    ...([null, reason] as const),
  ]),
  [ECHOES]: [
    ['an echo', sent(400, { error: { message: `Invalid content: ${ASKED}` } }), 'rejected', null, /^Invalid/],
    ['an echo in quotes', sent(422, `Cannot parse the value: "${ASKED}"`), 'rejected', null, /^Cannot/],
    [
      'an echo in a member',
      sent(422, { detail: [{ msg: 'Bad', input: { message: ASKED } }] }),
      'rejected',
      null,
      /^Bad/,
    ],
    ['the same words of the server', sent(400, { error: { message: `${OVERFLOW}.` } }), 'context_length', null, /^$/],
  ],
}

for (const [engine, open] of Object.entries(ENGINES)) {
  suite(engine, () => {
    let upstream: ChatUpstream
    let chat: ChatEngine
    const alarms: object[] = []
    before(async () => {
      upstream = await startChatUpstream()
      const quiet = () => {}
      const error = (_: string, fields = {}) => void alarms.push(fields)
      chat = open(upstream.url, { error, warn: quiet, info: quiet, debug: quiet })
    })
    after(async () => {
      await chat.close?.()
      await upstream.close()
    })
    const refusal = async (what: string, reply: UpstreamReply, content = 'Hi'): Promise<EngineError> => {
      upstream.reply(reply)
      const request: ChatRequest = { ...textRequest('m', { stream: true }), messages: [{ role: 'user', content }] }
      const error = await allEvents(chat, request).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof EngineError, what)
      return error
    }

    for (const [promise, rows] of Object.entries(TABLES)) {
      test(promise, async () => {
        for (const [what, reply, kind, param, reason] of rows) {
          const alarmed = alarms.length
          const error = await refusal(what, reply, promise === ECHOES ? ASKED : 'Hi')
          assert.deepEqual([what, error.kind, error.param ?? null], [what, kind, param])
          assert.match(error.reason ?? '', reason, what)
          assert.doesNotMatch(error.reason ?? '', /gpt-9|content exists risk/, what)
          assert.ok(!JSON.stringify(error).includes(error.reason ?? '\0'), `${what}: written out by accident`)
          assert.equal(alarms.length, alarmed + (error.needs_operator ? 1 : 0), what)
          if (reply.kind === 'json' && reply.status !== undefined)
            assert.equal(error.needs_operator, kind === 'failed' ? promise !== WRONG : promise === EMPTY, what)
        }
      })
    }

    test('what a server has said of a refusal is read although it keeps the connection open', async () => {
      const frames = [JSON.stringify({ error: { message: 'The next message is wrong.' } })]
      const started = performance.now()
      const open = { kind: 'stream', type: 'application/json', done: false, finally: 'stall' } as const
      const error = await refusal('open', { ...open, status: 400, frames })
      assert.equal(error.kind, 'rejected')
      assert.match(error.reason!, /next message/)
      assert.ok(performance.now() - started < 5000)
      upstream.release()
    })
  })
}
