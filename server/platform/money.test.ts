import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../test/support/law.ts'
import { formatMoney, parseMoney } from './money.ts'

law('formatting and parsing are inverse for every amount', (seed) => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 19n), 10n ** 19n), (units) => parseMoney(formatMoney(units)) === units),
    { seed },
  )
})

test('text that is not a plain decimal of at most 8 fraction digits is refused', () => {
  for (const text of ['', '1.', '.5', '1e3', '+1', '1.123456789', ' 1', '1,5', '0x1', 'NaN', '--1']) {
    assert.equal(parseMoney(text), null, text)
  }
})

test('fewer digits are shown only when nothing is lost', () => {
  assert.equal(formatMoney(5_000_000n, 6), '0.050000')
  assert.throws(() => formatMoney(1n, 6))
})
