import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readCsv } from '../../test/support/data/csv.ts'
import { law } from '../../test/support/law.ts'
import { csvLine } from './csv.ts'

test('text that a spreadsheet would run is kept text; numbers stay numbers', () => {
  const texts = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1', '＝1', '\u200b=1', '\n-1']
  for (const text of texts) assert.match(csvLine([text]), /^"?'/, JSON.stringify(text))
  assert.equal(csvLine([{ exact: '-0.00000001' }, -5, null, 'a=b', '']), '-0.00000001,-5,,a=b,\r\n')
})

test('quotes, commas and line ends stay within their cell', () => {
  assert.equal(csvLine(['say "hi"', 'a,b', 'one\ntwo']), '"say ""hi""","a,b","one\ntwo"\r\n')
})

law('a reader gets back each text, or the text behind an apostrophe', (seed) => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), (texts) => {
      const [read = []] = readCsv(csvLine(texts))
      assert.deepEqual(
        read.map((each, i) => (each === texts[i] ? each : each.slice(1))),
        texts,
      )
      for (const each of read) assert.doesNotMatch(each, /^[\s]*[=+\-@]/)
    }),
    { seed },
  )
})
