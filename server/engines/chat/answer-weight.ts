/** What decides the size of an answer: its choices, and the log probabilities of each token. */
export type AnswerShape = { n?: number; logprobs?: boolean; top_logprobs?: number }

/** Of a log probability with its token and bytes, as a multiple of a token's text. */
const LOGPROB_WEIGHT = 8
/** Above this an answer is streamed from its server and written piece by piece: parsed or written in one go it would block the event loop. */
const HEAVY_WEIGHT = 16

/** What a token of an answer weighs in all choices together. 1 is about nine bytes of JSON. */
export function tokenWeight({ n = 1, logprobs, top_logprobs = 0 }: AnswerShape): number {
  return n * (logprobs === true ? 1 + LOGPROB_WEIGHT * (1 + top_logprobs) : 1)
}

export function isHeavy(shape: AnswerShape): boolean {
  return tokenWeight(shape) > HEAVY_WEIGHT
}
