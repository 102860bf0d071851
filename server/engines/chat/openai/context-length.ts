import type { ContextOverflow } from '../../engine-error.ts'

/**
 * Whether an error of a model server means that the request is too long, and its token counts when it names them. The wordings are in the
 * tests, each with its source.
 */
export function readContextLength(error: {
  code: string
  message: string
  n_prompt_tokens?: unknown
  n_ctx?: unknown
}): { tokens: ContextOverflow | undefined } | null {
  const { message } = error
  if (!CODES.has(error.code) && !ABOUT_LENGTH.some((pattern) => pattern.test(message))) return null
  const sum = /\((\d{1,12}) > (\d{1,12}) - (\d{1,12})\)/.exec(message)
  if (sum !== null) return { tokens: figures(Number(sum[2]), Number(sum[1]) + Number(sum[3]), Number(sum[1])) }
  for (const pattern of PARTS) {
    const { limit, input, answer } = pattern.exec(message)?.groups ?? {}
    if (limit !== undefined) return { tokens: figures(Number(limit), Number(input) + Number(answer), Number(answer)) }
  }
  const limit = error.n_ctx ?? numberOf(LIMIT, message)
  const asked = error.n_prompt_tokens ?? numberOf(ASKED, message)
  return { tokens: figures(limit, asked, numberOf(ANSWER, message)) }
}

const CODES = new Set(['context_length_exceeded', 'exceed_context_size_error', 'context_exceeded', '1261'])
const ABOUT_LENGTH = [
  /(maximum|max|model's|available|configured) (context|input|prompt) (length|size|window)/i,
  /maximum (model|prompt) length/i,
  /context length (is|of) only/i,
  /exceeds? (the |maximum |max |available |model's )*context (length|size|window|limit)/i,
  /(greater|longer) than the (model's )?context (length|size|window)/i,
  /context (window|length|size) exceed/i,
  /input tokens exceed/i,
  /input token count.{0,40}exceeds/i,
  /prompt token count.{0,40}exceeds/i,
  /(prompt|input) (is |token length )?too long(?! for (the )?(image|video))/i,
  /超(过|出).{0,12}(上下文|最大).{0,6}长度/,
  /prompt exceeds max length/i,
  /`?inputs?`? tokens \+ `?max_new_tokens`? must be/i,
  /`?inputs`? must have less than \d+ tokens/i,
  /too many tokens: (total|size limit)/i,
  /exceeded model token limit/i,
  /range of input length should be/i,
  /context the overflows/i,
]
/** TGI and Together, Anthropic, vLLM: the limit, the input and the room for the answer. */
const PARTS = [
  /must be <= (?<limit>\d{1,12})\. Given: (?<input>\d{1,12}) `?inputs`? tokens and (?<answer>\d{1,12}) `?max_new_tokens/i,
  /exceed context limit: (?<input>\d{1,12}) \+ (?<answer>\d{1,12}) > (?<limit>\d{1,12})/i,
  /length is (?<limit>\d{1,12}) tokens\. However, you requested (?<answer>\d{1,12}) output tokens and your prompt contains at least (?<input>\d{1,12})/i,
]
const LIMIT =
  /(?:maximum (?:context|prompt) length (?:is|of)|maximum model length of|context length (?:is|of) only|context length|context size|context window of|configured limit of|\d tokens >|maximum number of tokens allowed|exceeds the limit of|model token limit:|input length should be \[\d+,|cannot exceed|must have less than|the model's limit of|too large for model with)\s*\(?(\d{1,12})/i
const ASKED =
  /(?:resulted in|requested a total of|requested about|requested:|requested|request has|request contains|prompt contains|you passed|passed|keep the first|initial prompt|token count of|token count|received|Given:|input|request|prompt|prompt \(length|prompt is too long:|requested tokens)\s*\(?(\d{1,12})/i
/** Of what was asked, the part that the answer was to have. */
const ANSWER = /(\d{1,12})(?: tokens)? (?:in|for) the (?:completion|output)/i

function numberOf(pattern: RegExp, message: string): number | undefined {
  const found = pattern.exec(message)?.[1]
  return found === undefined ? undefined : Number(found)
}

function figures(limit: unknown, asked: unknown, answer: number | undefined): ContextOverflow | undefined {
  if (!isCount(limit) || !isCount(asked)) return undefined
  return answer === undefined || answer > asked ? { limit, asked } : { limit, asked, input: asked - answer }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}
