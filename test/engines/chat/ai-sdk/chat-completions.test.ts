import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aiSdkChat } from '../../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatEvent } from '../../../../server/engines/chat/contract.ts'
import { chunk, startChatUpstream } from '../../../support/upstream/chat-upstream.ts'
import { last, messages, text } from '../../../support/upstream/field-replies/frames.ts'
import { live, textRequest } from '../contract.ts'

const lines = (objects: readonly object[]) => objects.map((object) => `${JSON.stringify(object)}\n`)

/** The first piece of an answer, which is JSON, and the rest of it. */
const SLOW: Readonly<Record<string, readonly string[]>> = {
  'a line of JSON for each chunk': lines([text('Hel'), text('lo', 'stop'), last()]),
  'JSON for each chunk without line breaks': [text('Hel'), text('lo', 'stop'), last()].map((each) =>
    JSON.stringify(each),
  ),
  'a line of JSON with a message for each chunk': lines([
    messages({ content: 'Hel' }),
    messages({ content: 'lo' }, 'stop'),
    last(),
  ]),
  'an event without its blank line': [`data: ${JSON.stringify(text('Hel'))}`, '\n\n', ...lines([text('lo', 'stop')])],
  'half an event': [`data: ${JSON.stringify(text('Hel'))}\n\n${JSON.stringify(chunk({})).slice(0, 20)}`].concat(
    `${JSON.stringify(chunk({})).slice(20)}\n`,
    lines([text('lo', 'stop')]),
  ),
}

for (const [name, frames] of Object.entries(SLOW)) {
  test(`ai-sdk: ${name} is passed on as it comes, however long the server is silent after it`, {
    timeout: 20_000,
  }, async () => {
    const upstream = await startChatUpstream()
    const engine = aiSdkChat({
      kind: 'ai-sdk',
      package: '@ai-sdk/openai-compatible',
      base_url: upstream.url,
      api_key: 'key',
      settings: { name: 'upstream', includeUsage: true },
    })
    try {
      upstream.reply({ kind: 'stream', frames, done: false, hold_after: 1 })
      const answer = await engine.generate(textRequest('m', { stream: true }), live())
      const events: ChatEvent[] = []
      for await (const batch of answer) {
        events.push(...batch)
        // The rest comes only when the beginning has been passed on.
        upstream.release()
      }
      const texts = events.map((event) => (event.type === 'text-delta' ? event.text : ''))
      assert.deepEqual(texts.filter(Boolean), ['Hel', 'lo'])
      assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'stop' })
    } finally {
      await engine.close?.()
      await upstream.close()
    }
  })
}
