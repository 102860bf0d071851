import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unitsOf } from '../../ui/form/decimal.ts'
import { isNegative, minus, quote } from './quote.ts'

test('a quote has every digit that floats would lose', () => {
  assert.equal(quote('0.010000', 8), '0.08000000')
  assert.equal(quote('0.070000', 15), '1.05000000')
  assert.equal(quote('0.000001', 7), '0.00000700')
  assert.equal(quote('123456789012.345678', 15), '1851851835185.18517000')
})

test('what is left may be less than nothing', () => {
  assert.equal(minus('0.05', '0.08000000'), '-0.03000000')
  assert.ok(isNegative(minus('0.05', '0.08')))
  assert.ok(!isNegative(minus('0.08', '0.08000000')))
  assert.equal(minus('100', '0.00000001'), '99.99999999')
})

test('what is no amount is refused', () => {
  for (const wrong of ['', '1e5', '1.', '.5', '0.123456789', 'NaN']) assert.throws(() => unitsOf(wrong), RangeError)
})
