/** What says how long an answer gets: its choices, and the log probabilities of each token. */
export type AnswerShape = { n?: number; logprobs?: boolean; top_logprobs?: number }

/** Of a log probability with its token and bytes, as a multiple of a token's text. */
const LOGPROB_WEIGHT = 8
/** From here on an answer comes in pieces from its server too, and is written in pieces: as one text it would stop everybody. */
const HEAVY_WEIGHT = 16

/** What a token of an answer weighs in all choices together. 1 is about nine bytes of JSON. */
export function tokenWeight({ n = 1, logprobs, top_logprobs = 0 }: AnswerShape): number {
  return n * (logprobs === true ? 1 + LOGPROB_WEIGHT * (1 + top_logprobs) : 1)
}

export function isHeavy(shape: AnswerShape): boolean {
  return tokenWeight(shape) > HEAVY_WEIGHT
}
