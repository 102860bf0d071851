import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../engines/chat/contract.ts'
import { storableEvents } from './storable-events.ts'

const text = (text: string, choice = 0): ChatEvent => ({ type: 'text-delta', choice, text })
const call = (index: number, text: string): ChatEvent => ({
  type: 'tool-call-delta',
  choice: 0,
  call: index,
  arguments: text,
})
const finish = (choice = 0): ChatEvent => ({ type: 'finish', choice, reason: 'stop' })

/** The events of batches of one event each. */
function repaired(events: readonly ChatEvent[]): ChatEvent[] {
  const storable = storableEvents()
  return events.flatMap((event) => storable([event]))
}

test('a batch that can be stored is returned as it is', () => {
  const batch = [text('whole \u{1f600}'), call(0, '{}'), finish()]
  assert.equal(storableEvents()(batch), batch)
})

test('halves of an emoji are joined within a choice and a call, also where these interleave', () => {
  const events = [text('a\ud83d'), text('b\ud83d', 1), text('\ude00c'), text('\ude01d', 1)]
  assert.deepEqual(repaired(events), [text('a'), text('b', 1), text('\u{1f600}c'), text('\u{1f601}d', 1)])
  const calls = [call(0, 'a\ud83d'), call(1, 'b\ud83d'), call(0, '\ude00'), call(1, '\ude01')]
  assert.deepEqual(repaired(calls), [call(0, 'a'), call(1, 'b'), call(0, '\u{1f600}'), call(1, '\u{1f601}')])
})

test('a half that nothing completes is U+FFFD before what comes next in its choice', () => {
  const events = [text('a\ud83d'), call(0, '{}\ud83d'), finish(1), finish()]
  const half = '\ufffd'
  assert.deepEqual(repaired(events), [text('a'), text(half), call(0, '{}'), finish(1), call(0, half), finish()])
})

test('tokens of log probabilities are repaired with their text', () => {
  const token = (token: string) => ({ token, logprob: -1, bytes: null })
  const logprobs = (text: string) => [{ ...token(text), top_logprobs: [token(text), token('b')] }]
  const event = (text: string): ChatEvent => ({ type: 'text-delta', choice: 0, text, logprobs: logprobs(text) })
  assert.deepEqual(repaired([event('a\0')]), [event('a\ufffd')])
})

test('extra content of a call is repaired, also in the names of its members', () => {
  const withExtra = (extra_content: Record<string, unknown>): ChatEvent => ({
    type: 'tool-call-delta',
    choice: 0,
    call: 0,
    arguments: '{}',
    extra_content,
  })
  const whole = withExtra({ google: { thought_signature: 'c2ln', parts: [1, null, '\u{1f600}'] } })
  const batch = [whole]
  assert.equal(storableEvents()(batch), batch)
  const escaped = withExtra({ google: '\\u0000' })
  assert.deepEqual(repaired([escaped]), [escaped])
  assert.deepEqual(repaired([withExtra({ 'a\0': ['b\ud83d', { c: 'd\0' }] })]), [
    withExtra({ 'a\ufffd': ['b\ufffd', { c: 'd\ufffd' }] }),
  ])
})
