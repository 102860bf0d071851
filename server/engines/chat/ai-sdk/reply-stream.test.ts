import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asEvents } from './reply-stream.ts'

const NOTHING = 1500
const USAGE = 5000
const chunk = (content: string, finish_reason: string | null, more = {}) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
  ...more,
})
const usage = { prompt_tokens: 9, completion_tokens: 1 }

test('the end of a stream may stand on the line of its last object', () => {
  const last = JSON.stringify({ choices: [{ delta: { content: '' }, finish_reason: 'stop' }] })
  const { bytes, silence_ms } = asEvents()(Buffer.from(`${last} [DONE]\n`))
  assert.deepEqual([String(bytes), silence_ms], [`data: ${last}\n\ndata: [DONE]\n\n`, 0])
})

test('how long a server may be silent before its stream is complete', () => {
  for (const [objects, expected] of [
    [[chunk('a', null)], null],
    [[chunk('a', null, { usage })], null],
    [[chunk('', 'stop')], null],
    [[chunk('', 'stop'), { choices: [], usage }], NOTHING],
    [[chunk('a', ''), chunk('b', null)], null],
    [[chunk('a', null), chunk('', 'stop')], USAGE],
    [[chunk('a', null), chunk('', 'stop'), { choices: [], usage }], NOTHING],
    [[chunk('a', 'stop'), chunk('b', 'stop')], USAGE],
    [['a', 'b', 'c'].map((text) => chunk(text, 'stop', { usage })), null],
    [[...['a', 'b', 'c'].map((text) => chunk(text, 'stop')), { choices: [], usage }], NOTHING],
    [[chunk('"finish_reason":"stop"', null), chunk('"usage":{', null)], null],
    [['[DONE]'], 0],
  ] as const) {
    const text = objects.map((object) => `data: ${typeof object === 'string' ? object : JSON.stringify(object)}\n\n`)
    for (const pieces of [text, [...text.join('')], [text.join('')]]) {
      const read = asEvents()
      const ends = pieces.map((piece) => read(Buffer.from(piece)).silence_ms)
      assert.equal(ends.at(-1), expected, JSON.stringify(objects))
    }
  }
})
