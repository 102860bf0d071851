import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNegative, multiply, subtract, unitsOf } from './money.ts'

test('a product keeps every digit that floats would lose', () => {
  assert.equal(multiply('0.010000', 8), '0.08000000')
  assert.equal(multiply('0.070000', 15), '1.05000000')
  assert.equal(multiply('0.000001', 7), '0.00000700')
  assert.equal(multiply('123456789012.345678', 15), '1851851835185.18517000')
})

test('a difference may be negative', () => {
  assert.equal(subtract('0.05', '0.08000000'), '-0.03000000')
  assert.ok(isNegative(subtract('0.05', '0.08')))
  assert.ok(!isNegative(subtract('0.08', '0.08000000')))
  assert.equal(subtract('100', '0.00000001'), '99.99999999')
})

test('a text that is not an amount throws RangeError', () => {
  for (const wrong of ['', '1e5', '1.', '.5', '0.123456789', 'NaN']) assert.throws(() => unitsOf(wrong), RangeError)
})
