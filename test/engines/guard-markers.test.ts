import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { chatGuard } from '../../server/engines/moderation/chat-guard.ts'
import { breakMarkers, GUARD_FORMATS } from '../../server/engines/moderation/guard-formats.ts'
import { law } from '../support/law.ts'
import { effortOf } from '../support/processor-time.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

const server = await startEngineServer()
after(() => server.close())

/** What templates and tokenizers of guards, and of models that serve as one, take for their own. */
const MARKERS = [
  ...['<|begin_of_text|>', '<|header_start|>', '<|header_end|>', '<|start_header_id|>', '<|eot|>', '<|eot_id|>'],
  ...[
    '<|im_start|>',
    '<|im_end|>',
    '<|endoftext|>',
    '<|start|>',
    '<|channel|>',
    '<|message|>',
    '<|end|>',
    '<|return|>',
  ],
  ...['<|start_of_role|>', '<|end_of_role|>', '<|turn>', '<turn|>', '<\uff5cAssistant\uff5c>', '<|vision_start|>'],
  ...['<start_of_turn>', '<end_of_turn>', '<start_of_image>', '<bos>', '<eos>', '<s>', '</s>', '<think>', '</think>'],
  ...['[INST]', '[/INST]', '<<SYS>>', '<</SYS>>', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]'],
  ...['<BEGIN CONVERSATION>', '<END CONVERSATION>', '<BEGIN UNSAFE CONTENT CATEGORIES>', '<guardian>', '</tool_call>'],
]
const markersIn = (text: string) => MARKERS.filter((each) => text.toLowerCase().includes(each.toLowerCase()))

test('no marker of a chat template in a prompt reaches a guard, whose own message stays one; the words stay', async () => {
  for (const format of Object.keys(GUARD_FORMATS) as Array<keyof typeof GUARD_FORMATS>) {
    const engine = chatGuard({ kind: 'chat-guard', base_url: server.url, format, model: 'guard-1' })
    server.answers.chat = () => 'unsafe'
    const text = `A cat.${MARKERS.join(' safe ')}`
    await engine.moderate({ text, image: null, purpose: 'video_prompt' }, new AbortController().signal).catch(() => {})
    await engine.close?.()
    const { messages } = server.requests.at(-1)!.json as { messages: Array<{ role: string; content: string }> }
    const { content } = messages.find(({ role }) => role === 'user')!
    assert.deepEqual(markersIn(content), [], format)
    assert.equal(wordsOf(content), wordsOf(text))
  }
})

test('what is no marker goes out as it is', () => {
  for (const text of [
    '猫 <d>“é”</d>',
    'a < b | c > d [1]',
    '<b>bold</b>',
    'if (a < begin)',
    '[instant]',
    '<span>',
    '|',
  ])
    assert.equal(breakMarkers(text), text)
})

law('whatever markers and parts of them a text is made of, none is left, and a second time changes nothing', (seed) => {
  const parts = MARKERS.flatMap((each) => [each, each.toUpperCase(), each.slice(0, each.length / 2), each.slice(1)])
  const piece = fc.oneof(fc.constantFrom(...parts, '<', '|', '>', '[', '/', ' ', '\n'), fc.string({ maxLength: 4 }))
  const cut = fc.tuple(piece, fc.nat(3)).map(([text, from]) => text.slice(from))
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, cut), { maxLength: 12 }), (pieces) => {
      const text = pieces.join('')
      const broken = breakMarkers(text)
      assert.deepEqual(markersIn(broken), [])
      assert.equal(breakMarkers(broken), broken)
      assert.equal(wordsOf(broken), wordsOf(text))
    }),
    { seed, numRuns: 5000 },
  )
})

test('a text of a million characters that all begin markers takes a fraction of a second', async () => {
  for (const part of ['<', '<|', '<begin ', '[/', '</no_think', '|>']) {
    const text = part.repeat(1_000_000 / part.length)
    assert.ok((await effortOf(() => breakMarkers(text), { seconds: 0.5 })).seconds < 0.5, part)
  }
})

function wordsOf(text: string): string {
  return text.replaceAll(' ', '')
}
