import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { ApiError } from '../../server/platform/errors.ts'
import { parseJson } from '../../server/platform/json/parse.ts'
import { parsePieces } from '../../server/platform/json/pieces.ts'
import { newScan } from '../../server/platform/json/scan.ts'
import { effortOf, longestTurn } from '../support/processor-time.ts'

const LARGE = 64 * 1024 * 1024
const NOT_JSON = Symbol('not JSON')

function reference(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return NOT_JSON
  }
}

function inPieces(text: string, piece_bytes: number): unknown {
  const pieces = parsePieces(newScan(Buffer.from(text)), piece_bytes)
  try {
    for (let step = pieces.next(); ; step = pieces.next()) if (step.done) return step.value
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_json') return NOT_JSON
    throw error
  }
}

function assertSame(text: string): void {
  for (const piece_bytes of [1, 2, 3, 5, 8, 21, 100]) {
    const [got, wanted] = [inPieces(text, piece_bytes), reference(text)]
    assert.ok(isDeepStrictEqual(got, wanted), `${JSON.stringify(text)} in pieces of ${piece_bytes}`)
  }
}

test('law: what is parsed in pieces is what JSON.parse makes of the whole, down to names like __proto__', () => {
  const key = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', '', 'a', '\\', '"'))
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.double(), fc.constantFrom(null, true, false)),
    tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), fc.array(tie('tree')), fc.array(fc.tuple(key, tie('tree')))),
  }))
  fc.assert(
    fc.property(tree, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      assertSame(JSON.stringify(value, null, space))
      assertSame(
        JSON.stringify(Object.fromEntries([['__proto__', value]].concat([['a', value]] as never)), null, space),
      )
      assertSame(`{"__proto__":${JSON.stringify(value)},"a":1,"a":${JSON.stringify(value)}}`)
    }),
    { numRuns: 200, seed: 9 },
  )
})

test('law: what JSON.parse refuses is refused in pieces too, and nothing else', () => {
  const part = fc.constantFrom(
    ...'[]{},:" \n1a\\u'.split(''),
    '"a"',
    '"ab":',
    '[1,2]',
    '{"a":[]}',
    'null',
    '1e5',
    '"\\u00e9"',
    '\u0001',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      assertSame(parts.join(''))
      assertSame(`[${parts.join('')}]`)
      assertSame(`{"a":[${parts.join('')}],"b":1}`)
    }),
    { numRuns: 3000, seed: 9 },
  )
})

test('an object has at most 20,000 members, an array more elements', async () => {
  const members = (length: number) => `{"a":{${Array.from({ length }, (_, i) => `"${i}":[]`).join(',')}}}`
  const refused = { code: 'invalid_value', message: /more than 20000 members/ }
  await assert.rejects(async () => parseJson(Buffer.from(members(20_001))), refused)
  assert.equal(Object.keys(((await parseJson(Buffer.from(members(20_000)))) as { a: object }).a).length, 20_000)
  assert.equal(((await parseJson(Buffer.from(`[${'1,'.repeat(30_000)}1]`))) as number[]).length, 30_001)
})

/** Bodies of 64 MiB, or of as many values as there may be, each the worst of its kind for some way to read it. */
const WORST: Record<string, () => string> = {
  'brackets that open and close': () => '['.repeat(LARGE / 2) + ']'.repeat(LARGE / 2),
  'empty arrays': () => `[${'[],'.repeat(LARGE / 3 - 2)}[]]`,
  'all values there may be': () => `[${'{},'.repeat(99_000)}{}]`,
  'all members there may be': () =>
    `[${`{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}},`.repeat(9)}1]`,
  texts: () => `[${`"${'x'.repeat(330)}",`.repeat(199_000)}""]`,
  'one text': () => `"${'x'.repeat(LARGE - 2)}"`,
  'one text of escapes': () => `"${'\\n'.repeat(LARGE / 2 - 2)}"`,
  'one text of quotes': () => `"${'\\"'.repeat(LARGE / 2 - 2)}"`,
  'one text with rare escapes': () => `"${`\\n${'x'.repeat(38)}`.repeat(LARGE / 40 - 1)}"`,
  'one text far inside': () => `${'[{"a":'.repeat(30)}"${'\u00e4'.repeat(LARGE / 2 - 200)}"${'}]'.repeat(30)}`,
  'one text with half a pair of surrogates at its end': () => `"${'x'.repeat(LARGE / 2)}\\ud800"`,
  'one text with an escaped pair of surrogates': () => `"${'x'.repeat(LARGE / 2)}\\ud83d\\ude00"`,
  'white space': () => `[${' '.repeat(LARGE - 2)}]`,
  'a number': () => '1'.repeat(LARGE),
}

for (const [name, text] of Object.entries(WORST)) {
  test(`no turn of the event loop takes 50 ms of processor time for a body of ${name}`, async () => {
    const bytes = Buffer.from(text())
    const milliseconds = await longestTurn(() => parseJson(bytes))
    assert.ok(milliseconds < 50, `${milliseconds} ms`)
  })
}

test('a large body is parsed no further once its client has left', async () => {
  const bytes = Buffer.from(WORST.texts!())
  const left = () => {
    const leaving = new AbortController()
    setImmediate(() => leaving.abort(new Error('gone')))
    return Promise.resolve(parseJson(bytes, { signal: leaving.signal }))
  }
  await assert.rejects(left(), /gone/)
  const { seconds } = await effortOf(left, { seconds: 0.1 })
  assert.ok(seconds < 0.1, `${seconds} s`)
})

test('a lone surrogate is refused anywhere in a large text, and a pair is kept', async () => {
  for (const at of [0, 999_999, 1_000_000, 1_999_999]) {
    const text = (middle: string) => Buffer.from(`{"a":["${'x'.repeat(at)}${middle}${'x'.repeat(2_000_000 - at)}"]}`)
    const whole = (await parseJson(text('\\ud83d\\ude00'))) as { a: string[] }
    assert.equal(whole.a[0]!.codePointAt(at), 0x1f600)
    for (const half of ['\\ud83d', '\\ude00', '\\ude00\\ud83d', '\\u0000']) {
      await assert.rejects(async () => parseJson(text(half)), { code: 'invalid_value', param: 'a[0]' })
    }
  }
})
