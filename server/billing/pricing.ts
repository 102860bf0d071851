import type { TokenPrices } from '../config/config.ts'

/** Price of a video: price × seconds, exact, in units of 10⁻⁸. Fixed at submission; later price changes do not apply. */
export function quoteVideo(per_second: bigint, seconds: number): bigint {
  return per_second * BigInt(seconds)
}

/** Prices are for a million tokens. */
const MILLION = 1_000_000n

/** Price of an answer, in units of 10⁻⁸, rounded up to the next whole unit. Cached input is part of input, reasoning part of output. */
export function priceTokens(
  prices: TokenPrices,
  tokens: { input: number; cached_input: number; output: number },
): bigint {
  const { input, cached_input, output } = tokens
  const millionths =
    prices.input * BigInt(input - cached_input) +
    prices.cached_input * BigInt(cached_input) +
    prices.output * BigInt(output)
  return (millionths + MILLION - 1n) / MILLION
}
