import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireSmallSchema } from '../../server/chat/check.ts'
import { boundsOf, countInputTokens } from '../../server/chat/count.ts'
import { partsOfContent } from '../../server/chat/parts/content.ts'
import { readBase64 } from '../../server/chat/parts/inline.ts'
import { newBudget } from '../../server/chat/parts/source.ts'
import { encodeCallOptions as aiSdkRequest } from '../../server/engines/chat/ai-sdk/encode-request.ts'
import type { ChatRequest } from '../../server/engines/chat/contract.ts'
import { readRequest } from '../../server/engines/chat/llama/read-request.ts'
import { encodeRequest } from '../../server/engines/chat/openai/encode-request.ts'
import type { RequestForm } from '../../server/engines/chat/openai/form/request-form.ts'
import { countInput } from '../../server/engines/chat/sandbox/input-tokens.ts'
import { readPrompt } from '../../server/engines/chat/sandbox/prompt.ts'
import { openByteBudget } from '../../server/platform/http/body/byte-budget.ts'
import { countTokensInTurns } from '../../server/platform/tokenizer.ts'
import { draftItems } from '../../server/responses/context/drafts.ts'
import { checkItems } from '../../server/responses/request/check/input.ts'
import { checkTools } from '../../server/responses/request/check/tools.ts'
import { normalizeInput } from '../../server/responses/request/normalize-input.ts'
import { bodyDigests } from '../../server/videos/create/idempotency.ts'
import { longestTurn } from '../support/processor-time.ts'

const MEBIBYTE = 1024 * 1024
const LONG = 'x'.repeat(60 * MEBIBYTE)
const SOURCE = { param: 'a', blame: 'a', from: 'file_data', file_data: '' } as const
const MODEL = { id: 'm', capabilities: [] } as never
/** As many members as a body may have, in no order. */
const MANY = Array.from({ length: 9 }, () =>
  Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${(i * 7919) % 20_000}`, 1])),
)
const BASE64 = Buffer.alloc(49_999_998, 1).toString('base64')
/** Written as a new text: a text that is put together of two is copied when it is first read. */
const NEARLY_BASE64 = Buffer.from(`${BASE64.slice(0, -4)}AA-A`).toString('latin1')
/** In no order: of three bytes each, and most pairs of them are no token. */
const IDEOGRAPHS = String.fromCharCode(...Array.from({ length: 100_000 }, (_, i) => 0x4e00 + ((i * 7919) % 20_000)))
const WORDS = Buffer.from('ä word. '.repeat(5_000_000))
const described: ChatRequest = {
  model: 'm',
  n: 1,
  stream: false,
  messages: [],
  tools: [{ type: 'function', function: { name: 'a', description: LONG.slice(0, 40 * MEBIBYTE) } }],
}
const calls = (texts: readonly string[]): ChatRequest => ({
  model: 'm',
  n: 1,
  stream: false,
  messages: [
    {
      role: 'assistant',
      content: null,
      tool_calls: texts.map((text, i) => ({ id: `${i}`, type: 'function', function: { name: 'a', arguments: text } })),
    },
  ],
})
const called = calls(['"\\'.repeat(20 * MEBIBYTE)])
/** Brackets take longest to parse. */
const nested = calls(Array.from({ length: 100 }, () => `{"a":${'['.repeat(32_000)}${']'.repeat(32_000)}}`))
const quotes = calls(Array.from({ length: 100 }, () => '"\\'.repeat(32_000)))
const escaped = calls([`{"a":"${'\\n'.repeat(20 * MEBIBYTE)}"}`])
const namespaces = Array.from({ length: 100 }, (_, i) => ({
  type: 'namespace',
  name: `n${i}`,
  tools: Array.from({ length: 10 }, (_, j) => ({
    type: 'function',
    name: `t${j}`,
    parameters: { a: LONG.slice(0, 60_000) },
  })),
}))
const PACKAGE = { package: '@ai-sdk/google' }
const FORM: RequestForm = {
  max_tokens_field: 'max_tokens',
  system_messages: 'separate',
  assistant_after_tool: false,
  accepts: undefined,
  parallel_tool_calls: true,
  developer_role: true,
  reasoning_content_input: true,
  stream_plain: false,
  refused: new Set(),
}
/** More than one turn has room for, of few bytes each. */
const MESSAGES = new Array(200_000).fill({ role: 'user', content: 'a' })
const FOREIGN = new Array(20_000).fill({
  path: 'input[0]',
  item: {
    id: 'rs_1',
    type: 'reasoning',
    summary: [],
    encrypted_content: Buffer.concat([Buffer.of(1), Buffer.alloc(40)]).toString('base64url'),
  },
})
const live = () => new AbortController().signal
/** To count so many tokens takes minutes; what it is about shows in the first turns. */
const soon = () => AbortSignal.timeout(300)

const WORK: Record<string, () => unknown> = {
  'decode base64 of 50 MB': () => readBase64(SOURCE, BASE64),
  'refuse base64 of 50 MB for its last character': () => readBase64(SOURCE, NEARLY_BASE64),
  'look at bytes of 40 MB for text': () =>
    partsOfContent(
      SOURCE,
      { bytes: WORDS, filename: undefined },
      { org_id: 'org', model: MODEL, budget: newBudget(), lease: openByteBudget().open('org'), signal: soon() },
    ),
  'digest a body with a text of 60 MiB': () => bodyDigests(['s'], { prompt: LONG }),
  'digest a body of many members': () => bodyDigests(['s'], { a: MANY }),
  'refuse a schema with a text of 60 MiB': () => requireSmallSchema({ a: LONG, b: { c: LONG } }, 'a'),
  'refuse a schema of many members': () => requireSmallSchema({ a: MANY }, 'a'),
  'refuse tools of 60 MB': () => checkTools(namespaces),
  'count a tool described in 40 MiB': () => countInput(described, soon()),
  'estimate a tool described in 40 MiB': () => countInputTokens(described, { signal: soon() }),
  'count ideographs that make no words': () => countTokensInTurns(IDEOGRAPHS),
  'read the arguments of 100 calls': () => encodeRequest(nested, FORM, { model: 'm', stream: false }, soon()),
  'read the arguments of 100 calls of quotes': () => encodeRequest(quotes, FORM, { model: 'm', stream: false }, live()),
  'read the arguments of 100 calls for a package': () => aiSdkRequest(nested, PACKAGE, soon()),
  'read arguments of 40 MiB for a package': () => aiSdkRequest(escaped, PACKAGE, live()),
  'read the arguments of 100 calls for a local model': () => readRequest(nested, 'merged', soon()),
  'read arguments of 40 MiB for a local model': () => readRequest(escaped, 'merged', live()),
  'bound the tokens of a call with arguments of 40 MiB': () => boundsOf(called),
}

/** Work on what a request holds, until nobody waits for its answer. */
const ABANDONED: Record<string, (signal: AbortSignal) => unknown> = {
  'decode base64': (signal) => readBase64(SOURCE, BASE64, { signal }),
  'take line breaks out of base64': (signal) => readBase64(SOURCE, NEARLY_BASE64, { signal }),
  'look at bytes for text': (signal) =>
    partsOfContent(
      SOURCE,
      { bytes: WORDS, filename: undefined },
      { org_id: 'org', model: MODEL, budget: newBudget(), lease: openByteBudget().open('org'), signal },
    ),
  'bound the tokens of tools': (signal) => boundsOf(described, signal),
  'bound the tokens of calls': (signal) => boundsOf(called, signal),
  'write a request for an engine': (signal) => encodeRequest(described, FORM, { model: 'm', stream: false }, signal),
  'read a conversation for the test model': (signal) => readPrompt(described, signal),
  'check the items of a response': (left) => checkItems(MESSAGES, { may_be_empty: false, left }),
  'normalize the items of a response': (left) => normalizeInput(MESSAGES, left),
  'decrypt what another service has encrypted': (left) =>
    draftItems({ secrets: ['s'] } as never, { org_id: 'org', nameOf: () => '' } as never, FOREIGN, left),
}

for (const [name, work] of Object.entries(ABANDONED)) {
  test(`a signal ends the work to ${name} at its next turn`, async () => {
    const left = new AbortController()
    const gone = new Error('gone')
    setImmediate(() => left.abort(gone))
    await assert.rejects(async () => await work(left.signal), gone)
  })
}

for (const [name, work] of Object.entries(WORK)) {
  test(`no turn of the event loop takes 50 ms of processor time to ${name}`, async () => {
    const milliseconds = await longestTurn(work)
    assert.ok(milliseconds < 50, `${milliseconds} ms`)
  })
}
