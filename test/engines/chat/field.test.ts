import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aiSdkChat } from '../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatEngine, ChatEvent } from '../../../server/engines/chat/contract.ts'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import { type ChatUpstream, startChatUpstream } from '../../support/upstream/chat-upstream.ts'
import { FIELD_REPLIES } from '../../support/upstream/field-replies/all.ts'
import { BILLED, type FieldReply } from '../../support/upstream/field-replies/frames.ts'
import { assertEventOrder, live, textRequest } from './contract.ts'

/** How long an upstream may say nothing. No reply of the table may need half as long. */
const IDLE_SECONDS = 30

const ENGINES: Readonly<Record<string, (upstream: ChatUpstream) => ChatEngine>> = {
  openai: ({ url }) => openaiChat({ kind: 'openai', base_url: url, idle_seconds: IDLE_SECONDS }),
  'ai-sdk': ({ url }) =>
    aiSdkChat({
      kind: 'ai-sdk',
      package: '@ai-sdk/openai-compatible',
      base_url: url,
      api_key: 'key',
      settings: { name: 'upstream', includeUsage: true },
    }),
}

// Some wait for seconds, each on a server of its own.
suite('what servers of the field send', { concurrency: 16 }, () => {
  for (const [engine, open] of Object.entries(ENGINES)) {
    for (const [name, row] of Object.entries(FIELD_REPLIES)) {
      if (engine === 'ai-sdk' && row.package !== undefined) continue
      const timeout = IDLE_SECONDS * 500
      if (row.plain !== 'only') test(`${engine}: ${name}`, { timeout }, () => check(open, row, { stream: true }))
      if (row.plain) test(`${engine}, plain: ${name}`, { timeout }, () => check(open, row, { stream: false }))
    }
  }
})

async function check(
  open: (upstream: ChatUpstream) => ChatEngine,
  row: FieldReply,
  { stream }: { stream: boolean },
): Promise<void> {
  const upstream = await startChatUpstream()
  const engine = open(upstream)
  const events: ChatEvent[] = []
  try {
    upstream.reply(row.reply)
    const request = textRequest('m', { stream })
    const failure = await (async () => {
      for await (const batch of await engine.generate(request, live())) events.push(...batch)
      return null
    })().catch((error: unknown) => error)
    if (row.fails !== undefined) {
      assert.ok(failure instanceof EngineError, String(failure))
      assert.equal(failure.kind, row.fails)
      if (row.reason !== undefined) assert.match(failure.reason ?? '', row.reason)
    } else {
      if (failure !== null) throw failure
      assertEventOrder(events, 1)
      assert.deepEqual(outcomeOf(events), expectedOf(row))
    }
  } finally {
    await engine.close?.()
    await upstream.close()
  }
}

function expectedOf({ text = '', reasoning = '', calls = [], extra_content, finish, usage = BILLED }: FieldReply) {
  const tokens = usage && { input: usage.input, output: usage.output, cached: usage.cached ?? 0 }
  const reason = finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  return { text, reasoning, calls, extra_content: extra_content ?? null, finish: reason, usage: tokens }
}

function outcomeOf(events: readonly ChatEvent[]) {
  const calls: Array<[string, string]> = []
  const outcome = {
    text: '',
    reasoning: '',
    calls,
    finish: '',
    extra_content: null as object | null,
    usage: null as object | null,
  }
  for (const event of events) {
    if (event.type === 'text-delta') outcome.text += event.text
    else if (event.type === 'reasoning-delta') outcome.reasoning += event.text
    else if (event.type === 'finish') outcome.finish = event.reason
    else if (event.type === 'tool-call-delta') {
      calls[event.call] ??= [event.name ?? '', '']
      calls[event.call]![1] += event.arguments
      outcome.extra_content = event.extra_content ?? outcome.extra_content
    } else if (event.type === 'end' && event.usage) {
      const { input, output, cached_input, unlisted = 0 } = event.usage
      outcome.usage = { input, output: output + unlisted, cached: cached_input }
    }
  }
  return outcome
}
