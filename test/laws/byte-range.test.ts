import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chooseRange, type RangeAnswer } from '../../server/platform/http/byte-range.ts'
import { law } from '../support/law.ts'

const ETAG = '"3f"'

function choose(headers: { range?: string; if_range?: string; if_none_match?: string; method?: string }, size: number) {
  const request = { method: 'GET', range: undefined, if_range: undefined, if_none_match: undefined, ...headers }
  return chooseRange(request, { size, etag: ETAG })
}

/** What RFC 9110 says, by trying every byte: those that lie inside the range are sent, none of them is 416. */
function model(first: number | null, last: number | null, size: number): RangeAnswer {
  if (first === null && last === null) return { status: 200, start: 0, end: size - 1 }
  if (first !== null && last !== null && last < first) return { status: 200, start: 0, end: size - 1 }
  const inside = (byte: number) =>
    first === null ? byte >= size - last! : byte >= first && byte <= (last ?? Number.POSITIVE_INFINITY)
  const bytes = Array.from({ length: size }, (_, byte) => byte).filter(inside)
  return bytes.length === 0 ? { status: 416 } : { status: 206, start: bytes[0]!, end: bytes.at(-1)! }
}

const bound = fc.option(fc.oneof(fc.nat(12), fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER)), { nil: null })
const header = fc.record({
  first: bound,
  last: bound,
  unit: fc.constantFrom('bytes', 'Bytes', 'BYTES'),
  pad: fc.constantFrom('', ' '),
})

law('one byte range selects exactly the bytes the RFC names', (seed) => {
  fc.assert(
    fc.property(header, fc.nat(10), ({ first, last, unit, pad }, size) => {
      const range = `${unit}=${pad}${first ?? ''}-${last ?? ''}${pad}`
      assert.deepEqual(choose({ range }, size), model(first, last, size), range)
    }),
    { seed, numRuns: 5_000 },
  )
})

law('several ranges give the whole, and so does an invalid one', (seed) => {
  const whole = { status: 200, start: 0, end: 99 }
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(200), fc.nat(200)), { minLength: 2, maxLength: 20 }), (ranges) => {
      const range = `bytes=${ranges.map(([first, last]) => `${first}-${first + last}`).join(', ')}`
      assert.deepEqual(choose({ range }, 100), whole)
    }),
    { seed, numRuns: 500 },
  )
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom('', 'bytes=', 'bytes=0-'),
      (text, prefix) => {
        const answer = choose({ range: prefix + text }, 100)
        if (!/^\s*bytes\s*=[\s,]*\d*-\d*[\s,]*$/i.test(prefix + text)) assert.deepEqual(answer, whole)
      },
    ),
    { seed, numRuns: 5_000 },
  )
  for (const range of [
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=5-2',
    'items=0-1',
    'bytes=0x1-2',
    'bytes=+1-2',
  ]) {
    assert.deepEqual(choose({ range }, 100), whole, range)
  }
})

test('If-Range lets a range through for the very same strong tag only', () => {
  const range = 'bytes=1-2'
  assert.equal(choose({ range, if_range: ETAG }, 9).status, 206)
  for (const if_range of ['"other"', `W/${ETAG}`, '3f', 'Wed, 21 Oct 2026 07:28:00 GMT', '', `${ETAG}, ${ETAG}`]) {
    assert.equal(choose({ range, if_range }, 9).status, 200, if_range)
  }
  assert.equal(choose({ range: 'bytes=99-', if_range: '"other"' }, 9).status, 200)
})

test('If-None-Match gives 304 for the tag, weak or in a list, and before any range', () => {
  for (const if_none_match of [ETAG, `W/${ETAG}`, `"a", ${ETAG}`, '*', ' * ', `${ETAG},"b"`]) {
    assert.equal(choose({ if_none_match, range: 'bytes=99-' }, 9).status, 304, if_none_match)
  }
  for (const if_none_match of ['"a"', '3f', '', '"a", "b"', '"*"']) {
    assert.equal(choose({ if_none_match }, 9).status, 200, if_none_match)
  }
})

test('HEAD has no ranges', () => {
  assert.deepEqual(choose({ method: 'HEAD', range: 'bytes=1-2' }, 9), { status: 200, start: 0, end: 8 })
})
