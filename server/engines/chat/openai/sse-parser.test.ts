import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../../test/support/law.ts'
import { LINE_BYTES_MAX, type SseEvent, sseParser } from './sse-parser.ts'

law('however the bytes are split into reads, the events are the same', (seed) => {
  const field = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
    fc.constantFrom(
      '',
      '',
      'data',
      'data:',
      'data:x',
      ': keepalive',
      'event: error',
      'event: message',
      'id: 7',
      'error: x',
    ),
  )
  const lines = fc.array(fc.tuple(field, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 30 })
  fc.assert(
    fc.property(lines, fc.array(fc.nat(400), { maxLength: 12 }), fc.boolean(), (stream, cuts, bom) => {
      const bytes = Buffer.from((bom ? '\ufeff' : '') + stream.flat().join(''))
      const whole = readAll([bytes])
      assert.deepEqual(readAll(splitAt(bytes, cuts)), whole)
      assert.deepEqual(readAll(Array.from(bytes, (byte) => Buffer.of(byte))), whole)
    }),
    { seed, numRuns: 500 },
  )
})

test('LF, CRLF and CR end a line, comments and unknown fields are ignored, data lines are joined', () => {
  for (const eol of ['\n', '\r\n', '\r']) {
    const text = [
      ': hello',
      'id: 1',
      'retry: 5',
      'data: {"a":',
      'data: 1}',
      '',
      'data:two',
      '',
      '',
      'data: 3',
      '',
    ].join(eol)
    assert.deepEqual(dataOf([Buffer.from(text + eol)]), ['{"a":\n1}', 'two', '3'])
  }
})

test('an event without its blank line still counts at the end', () => {
  assert.deepEqual(dataOf([Buffer.from('data: a\n\ndata: [DONE]')]), ['a', '[DONE]'])
})

test('a complete object ends where the next one begins, although no blank line is between them', () => {
  const one = (eol: string) =>
    ['data: {"a":1}', 'data: {"b":', 'data: 2}', 'data: {"c":3}', 'data: [DONE]', ''].join(eol)
  for (const eol of ['\n', '\r\n', '\r'])
    assert.deepEqual(dataOf([Buffer.from(one(eol))]), ['{"a":1}', '{"b":\n2}', '{"c":3}', '[DONE]'])
})

test('an event of many lines that look like its beginning is parsed a few times, not once for each line', (t) => {
  const parse = t.mock.method(JSON, 'parse')
  const lines = Array.from({ length: 2000 }, () => 'data: {"a":')
  assert.equal(dataOf([Buffer.from(lines.join('\n'))]).length, 1)
  assert.ok(parse.mock.callCount() < 20, `${parse.mock.callCount()} times`)
})

test('a line that is an object is an event: without its field, and after comments', () => {
  assert.deepEqual(dataOf([Buffer.from('{"a":1}\n{"b":2}\n')]), ['{"a":1}', '{"b":2}'])
  assert.deepEqual(dataOf([Buffer.from(': wait\n\n: wait\n\n{"a":1}')]), ['{"a":1}'])
})

test('an event named error, and a line of that name, are marked as errors', () => {
  const frames = readAll([Buffer.from('event: error\ndata: {}\n\ndata: {}\n\nerror: {"code":500}\n\n')])
  assert.deepEqual(
    frames.map(({ name }) => name),
    ['error', '', 'error'],
  )
})

test('a line of several MiB is read, one above the limit, or an event, is refused whether or not it ends', () => {
  const long = `data: ${'x'.repeat(4 * 1024 * 1024)}`
  assert.equal(dataOf([Buffer.from(`${long}\n\n`)])[0]?.length, 4 * 1024 * 1024)
  const piece = Buffer.alloc(8 * 1024 * 1024, 120)
  const pieces = Array.from({ length: LINE_BYTES_MAX / piece.length + 1 }, () => piece)
  assert.throws(() => readAll(pieces), RangeError)
  const line = Buffer.from(`data: ${piece.toString('latin1')}\n`)
  assert.throws(() => readAll(pieces.map(() => line)), RangeError)
})

function readAll(reads: readonly Buffer[]): SseEvent[] {
  const frames: SseEvent[] = []
  const lines = sseParser((frame) => frames.push(frame))
  for (const read of reads) lines.feed(read)
  lines.end()
  return frames
}

function dataOf(reads: readonly Buffer[]): string[] {
  return readAll(reads).map(({ data }) => data)
}

function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}
