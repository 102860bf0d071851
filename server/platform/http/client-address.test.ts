import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './client-address.ts'

test('an IPv4 address stands for itself, also when it comes mapped into IPv6', () => {
  assert.equal(networkOf('203.0.113.9'), '203.0.113.9')
  assert.equal(networkOf('::ffff:203.0.113.9'), '203.0.113.9')
  assert.equal(networkOf('::FFFF:203.0.113.9'), '203.0.113.9')
})

test('all addresses of an IPv6 /64 count as one, however they are written', () => {
  const written = [
    '2001:db8:0:1::1',
    '2001:DB8::1:ffff:ffff:ffff:ffff',
    '2001:0db8:0000:0001:a:b:c:d',
    '2001:db8:0:1::%eth0',
  ]
  for (const address of written) assert.equal(networkOf(address), '2001:db8:0:1::/64')
})

test('different /64s are different', () => {
  assert.notEqual(networkOf('2001:db8:0:1::1'), networkOf('2001:db8:0:2::1'))
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('fe80::1'), 'fe80:0:0:0::/64')
})
