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

test('JSON ends at its last bracket: without a field, over lines, and where the next one begins', () => {
  assert.deepEqual(dataOf([Buffer.from('{"a":1}\n{"b":2}\n')]), ['{"a":1}', '{"b":2}'])
  assert.deepEqual(dataOf([Buffer.from(': wait\n\n: wait\n\n{"a":1}')]), ['{"a":1}'])
  const pretty = '{\n  "a": "}",\n\n  "b": [\n{\n}\n]\n}'
  for (const text of [
    `: wait\n\n${pretty}\n\ndata: [DONE]\n\n`,
    `${pretty}\n: wait\nping\n[DONE]\n`,
    `data: ${pretty.replace('\n\n', '\n')}\ndata: [DONE]`,
  ])
    assert.deepEqual(
      dataOf([Buffer.from(text)]).map((each) => (each.startsWith('[') ? each : JSON.parse(each))),
      [{ a: '}', b: [{}] }, '[DONE]'],
    )
  const list = '[\n{"a":1},\n{"a":2}\n]'
  assert.deepEqual(dataOf([Buffer.from(`[info] loading\n${list}`)]), ['[info] loading', list])
})

test('a line of JSON without a field is read with its line break', () => {
  const frames: SseEvent[] = []
  const lines = sseParser((frame) => frames.push(frame))
  const read = ['{"a":1}\n', '{"a":', '2}\r\n', '{\n"a":3\n}\n', 'ping\n[DONE]\n'].map((text) => {
    lines.feed(Buffer.from(text))
    return frames.length
  })
  assert.deepEqual(read, [1, 1, 2, 3, 4])
})

test('words before JSON are an event of their own', () => {
  assert.deepEqual(dataOf([Buffer.from('data: null\ndata: {"a":1}\ndata: wait\ndata: wait\n')]), [
    'null',
    '{"a":1}',
    'wait\nwait',
  ])
})

test('an event of many lines is read in time that grows with its length alone', () => {
  const lines = Array.from({ length: 50_000 }, () => '{"a":')
  const { user } = process.cpuUsage()
  for (const text of [lines.join('\n'), lines.map((line) => `data: ${line}`).join('\n')])
    assert.equal(dataOf([Buffer.from(text)]).length, 1)
  assert.ok(process.cpuUsage().user - user < 2e6)
})

test('in a silence, what is complete is read without its line breaks, and nothing else', () => {
  for (const [text, expected] of [
    ['data: {"a":1}\n', ['{"a":1}']],
    ['data: {"a":1}', ['{"a":1}']],
    ['\ufeff{"a":1}', ['{"a":1}']],
    ['{\n"a":\n1\n}', ['{\n"a":\n1\n}']],
    ['data: {"a":1}\ndata: {"b":2}', ['{"a":1}', '{"b":2}']],
    ['data: wait\ndata: {"b":2}', ['wait', '{"b":2}']],
    ['data: [DONE]\r', ['[DONE]']],
    ['{"a":1}{"b":2}', ['{"a":1}{"b":2}']],
    ['{"a":1}{"b":{}', []],
    ['{"a":1}, words', []],
    ['error: {"a":1}', ['{"a":1}']],
    ['event: error\ndata: wait\n', ['wait']],
    ['data: {"a":[1]', []],
    ['data: {"a":\ndata: {"b":2}', []],
    ['data: wait\n', []],
    ['event: {"a":1}', []],
  ] as const) {
    const frames: SseEvent[] = []
    const lines = sseParser((frame) => frames.push(frame))
    lines.feed(Buffer.from(text))
    lines.flush()
    lines.flush()
    assert.deepEqual(
      frames.map(({ data }) => data),
      expected,
      text,
    )
    const isWaiting = lines.isWaiting()
    lines.end()
    assert.equal(frames.length > expected.length, isWaiting && !text.startsWith('event'), text)
  }
})

test('an event named error, and a line of that name, are marked as errors', () => {
  for (const [text, names] of [
    ['event: error\ndata: {}\n\ndata: {}\n\nerror: {"code":500}\n\n', ['error', '', 'error']],
    ['data: {}\nevent: error\n\ndata: {}\n\n', ['error', '']],
    ['event: a\ndata: {}\nevent: error\ndata: {}\n', ['a', 'error']],
    ['event: error\n{}\n{}\n', ['error', '']],
  ] as const)
    assert.deepEqual(
      readAll([Buffer.from(text)]).map(({ name }) => name),
      names,
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
