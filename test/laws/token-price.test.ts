import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { priceTokens } from '../../server/billing/pricing.ts'
import { law } from '../support/law.ts'
import { trials } from '../tiers.ts'

const prices = fc.record({
  input: fc.bigInt({ min: 0n, max: 10n ** 13n }),
  cached_input: fc.bigInt({ min: 0n, max: 10n ** 13n }),
  output: fc.bigInt({ min: 0n, max: 10n ** 13n }),
})
const count = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 2_147_483_647 }))
const tokens = fc.tuple(count, count, count).map(([fresh, cached, output]) => ({
  input: fresh + cached,
  cached_input: cached,
  output,
}))
const RUNS = trials(2000)

law('a charge covers the exact price and exceeds it by less than one unit', (seed) => {
  const property = fc.property(prices, tokens, (price, used) => {
    const exact =
      BigInt(used.input - used.cached_input) * price.input +
      BigInt(used.cached_input) * price.cached_input +
      BigInt(used.output) * price.output
    const charged = priceTokens(price, used) * 1_000_000n
    assert.ok(charged >= exact && charged - exact < 1_000_000n)
  })
  fc.assert(property, { seed, numRuns: RUNS })
})

law(
  'one more token never makes an answer cheaper, and a cached one costs as a fresh one where prices are equal',
  (seed) => {
    const property = fc.property(prices, tokens, (price, used) => {
      const amount = priceTokens(price, used)
      assert.ok(priceTokens(price, { ...used, output: used.output + 1 }) >= amount)
      assert.ok(priceTokens(price, { ...used, input: used.input + 1 }) >= amount)
      const flat = { ...price, cached_input: price.input }
      assert.equal(priceTokens(flat, used), priceTokens(flat, { ...used, cached_input: 0 }))
    })
    fc.assert(property, { seed, numRuns: RUNS })
  },
)

law('splitting an answer never costs less, and at most one unit more a part', (seed) => {
  const property = fc.property(prices, tokens, tokens, (price, a, b) => {
    const whole = priceTokens(price, {
      input: a.input + b.input,
      cached_input: a.cached_input + b.cached_input,
      output: a.output + b.output,
    })
    const parts = priceTokens(price, a) + priceTokens(price, b)
    assert.ok(parts >= whole && parts - whole <= 1n)
  })
  fc.assert(property, { seed, numRuns: RUNS })
})

test('nothing used costs nothing, and a millionth of a unit costs one', () => {
  const cheap = { input: 1n, cached_input: 1n, output: 1n }
  assert.equal(priceTokens(cheap, { input: 0, cached_input: 0, output: 0 }), 0n)
  assert.equal(priceTokens(cheap, { input: 1, cached_input: 0, output: 0 }), 1n)
  assert.equal(priceTokens(cheap, { input: 500_000, cached_input: 1, output: 500_000 }), 1n)
  assert.equal(priceTokens(cheap, { input: 500_001, cached_input: 1, output: 500_000 }), 2n)
})

test('reasoning is part of the output and cached input part of the input: neither is paid twice', () => {
  const price = { input: 3_000_000n, cached_input: 1_000_000n, output: 15_000_000n }
  assert.equal(priceTokens(price, { input: 10, cached_input: 4, output: 7 }), 6n * 3n + 4n * 1n + 7n * 15n)
})
