import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage } from './contract.ts'
import { readWords } from './server-words.ts'

const PROMPT = 'My sister Ada lives at 12 Harbour Street and has a secret: she never liked the sea, nor its salt.'
const MESSAGES: ChatMessage[] = [
  { role: 'system', content: 'Be terse.' },
  { role: 'user', content: [{ type: 'text', text: PROMPT }] },
  {
    ...{ role: 'assistant', content: null },
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'look', arguments: '{"street":"Harbour Street 12"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'a', content: 'tidal' },
]
const words = readWords({ model: 'm', n: 1, stream: false, messages: MESSAGES }, ['big-model-7b', 'top-secret', 'm'])

test('what a server says of a request is kept', () => {
  for (const text of [
    'System message must be at the beginning.',
    "Unsupported parameter: 'top_k' is not supported with this model.",
    'messages.1.content: text content blocks must be non-empty',
    'Expected max_tokens to be at most 4096, got 8192.',
    "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not permitted', 'input': 5}]",
    "This model's context is small, and the server's limit of 5 isn't met.",
  ])
    assert.equal(words(text), text)
})

test('nothing of the request, no address, no credential and no name of the operator is kept', () => {
  const said: Array<[text: string, kept: RegExp]> = [
    [`Invalid content: ${PROMPT}`, /^Invalid con/],
    [`Bad value ${PROMPT.slice(20, 50)} for messages`, /^Bad.*messages$/],
    ['Cannot parse \'{"street":"Harbour Street 12"}\'', /^Cannot p/],
    ["Invalid input: 'Ada lives at'", /^Invalid input: …$/],
    ['Role tool said tidal, which is wrong', /^Role tool said …, which is wrong$/],
    ['Use "Be terse." only once', /^Use/],
    ['See https://upstream.internal/docs?key=1 or mail ops@upstream.internal', /^See … or mail …$/],
    ['No route to 10.0.0.7:8000, upstream.internal, localhost:9', /^No route to …, …, …$/],
    ['Incorrect API key provided: sk-abc123def456', /^Incorrect API key provided: …$/],
    ['Token eyJhbGciOiJIUzI1NiIsInR5cCI6 has expired', /^Token … has expired$/],
    ['big-model-7b does not take images with top-secret', /^… does not take images with …$/],
    ['Failed to open /srv/models/big.gguf', /^Failed to open …$/],
  ]
  const hidden = /ada|harbour|secret|tidal|terse|upstream|10\.0\.0\.7|localhost|sk-|eyJ|7b|gguf/i
  for (const [text, kept] of said) {
    const left = words(text)!
    assert.match(left, kept)
    assert.doesNotMatch(left, hidden, left)
  }
})

test('a text of which nothing is left, or that is empty, is none; a long one is cut', () => {
  assert.equal(words(''), undefined)
  assert.equal(words(PROMPT), undefined)
  assert.ok(words('word '.repeat(1000))!.length <= 400)
})
