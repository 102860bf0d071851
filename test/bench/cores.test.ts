import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layoutOf, parseCores } from '../../bench/support/cores.ts'

test('a list of cores is read with its ranges', () => {
  assert.deepEqual(parseCores('0-2,5,8-9'), [0, 1, 2, 5, 8, 9])
  assert.deepEqual(parseCores('3'), [3])
})

test('subject and generator share no core, and every core has a side', () => {
  assert.deepEqual(layoutOf([0, 1], true), { subject: [0], generator: [1] })
  assert.deepEqual(layoutOf([2, 3, 6], true), { subject: [2], generator: [3, 6] })
  assert.deepEqual(layoutOf([0, 1, 2, 3], true), { subject: [0, 1], generator: [2, 3] })
})

test('nothing is pinned on one core or without taskset', () => {
  assert.equal(layoutOf([0], true), null)
  assert.equal(layoutOf([0, 1], false), null)
})
