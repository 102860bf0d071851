/** What a video costs: price × seconds, exact, in units of 10⁻⁸. Fixed at submission; later price changes do not touch it. */
export function quoteVideo(per_second: bigint, seconds: number): bigint {
  return per_second * BigInt(seconds)
}
