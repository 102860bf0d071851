import type { ContextOverflow } from '../../engine-error.ts'
import { isCount } from '../usage.ts'

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
  const message = error.message.replace(THOUSANDS, '')
  if (!CODES.has(error.code) && !ABOUT_LENGTH.some((pattern) => pattern.test(message))) return null
  const sum = /\((\d{1,12}) > (\d{1,12}) - (\d{1,12})\)/.exec(message)
  if (sum !== null) return { tokens: figures(Number(sum[2]), Number(sum[1]) + Number(sum[3]), Number(sum[1])) }
  for (const pattern of PARTS) {
    const { limit, input, answer = '0' } = pattern.exec(message)?.groups ?? {}
    if (limit === undefined) continue
    const asked = Number(input) + Number(answer)
    return { tokens: figures(Number(limit), asked, answer === '0' ? undefined : Number(answer)) }
  }
  const limit = error.n_ctx ?? numberOf(LIMIT, message)
  const asked = error.n_prompt_tokens ?? numberOf(ASKED, message)
  return { tokens: figures(limit, asked, numberOf(ANSWER, message)) }
}

/** Between the digits of one number. */
const THOUSANDS = /(?<=\d),(?=\d{3}(?!\d))/g

const CODES = new Set([
  ...['context_length_exceeded', 'exceed_context_size_error', 'context_exceeded', 'tokens_too_long'],
  ...['OutofContextError', 'tokens_limit_reached', '1261', '10907'],
])
/** What was sent, and then that it is too much; or the other way round; or words of one server alone. */
const SENT = '(?<!stop )\\b(context|prompt|input|sequence|conversation)s?'
const SIZE =
  '[ _](token counts?|tokens?(?! per )|(token |sequence )?length|window|(has|contains|of|is) \\d{1,12} tokens)'
const TOO_MUCH =
  '(exceed|too (long|many|large)|(longer|greater|larger) than (?!0|zero)|must be less than|only supports|supports only|should be \\[)'
const ABOUT_LENGTH = [
  new RegExp(`${SENT}(${SIZE}|(?<=context)[ _]size)\\b[^。]{0,50}?\\b${TOO_MUCH}`, 'i'),
  /exceed(s|ed|ing)? [^.]{0,40}\b(context[ _](length|size|window|limit)|(prompt|input)[ _]length)/i,
  /(greater|longer) than [^.]{0,30}\b(context|prompt|input|model) (length|size|window)/i,
  /(maximum|max|available|configured|model's) (context|input|prompt|model) (length|size|window)|max message tokens/i,
  /(context length (is|of) only|reached (the )?context length|context overflow|context the overflows)/i,
  /exceeds? (the )?(max_(seq|model|input)_len|model token limit)|must be less than max_seq_len/i,
  /\bn_keep\b.{0,20}>=? ?n_ctx|cannot truncate prompt|prompt exceeds max length/i,
  /(prompt|input) (is )?too long(?! for (the )?(image|video))/i,
  /tokens in the prompt (cannot exceed|exceeds)|INPUT_LENGTH_ERROR|too many tokens: (total|size limit)|exceeded model token limit/i,
  /`?inputs?`? tokens \+ `?max_new_tokens`? must be|`?inputs`? must have less than \d+ tokens/i,
  /超(过|出).{0,12}(上下文|最大).{0,6}长度|token数量超|(输入|prompt|上下文).{0,6}超长/i,
]
/** TGI and Together, Anthropic, vLLM, TensorRT-LLM, LM Studio: the limit, the input and the room for the answer. */
const PARTS = [
  /must be <= (?<limit>\d{1,12})\. Given: (?<input>\d{1,12}) `?inputs`? tokens and (?<answer>\d{1,12}) `?max_new_tokens/i,
  /exceed context limit: (?<input>\d{1,12}) \+ (?<answer>\d{1,12}) > (?<limit>\d{1,12})/i,
  /length is (?<limit>\d{1,12}) tokens\. However, you requested (?<answer>\d{1,12}) output tokens and your prompt contains at least (?<input>\d{1,12})/i,
  /prompt length \((?<input>\d{1,12})\) (?:\+|and query length \(\d{1,12}\)) max_tokens \((?<answer>\d{1,12})\) (?:exceeds|should not exceed) max_seq_len \((?<limit>\d{1,12})/i,
  /n_keep:? ?\(?(?<input>\d{1,12})\)? ?>=? ?n_ctx:? ?\(?(?<limit>\d{1,12})/i,
]
const LIMIT =
  /(?:maximum (?:context|prompt) length (?:is|of)|maximum model length of|maximum (?:allowed |input |sequence )?length|max_seq_len|(?:only supports|supports only) up to|model's maximum of|context length (?:is|of) only|context length|context size|context window of|configured limit of|\d tokens >|maximum number of tokens allowed|exceeds the limit of|model token limit:|input length should be \[\d+,|cannot exceed|must have less than|the model's limit of|too large for model with)\s*\(?(\d{1,12})/i
const ASKED =
  /(?:resulted in|requested a total of|requested about|requested:|requested|request has|request contains|prompt contains|you passed|passed|keep the first|initial prompt|token count of|token count is|token count|input length|prompt length|prompt_tokens|prompt has|received|Given:|input|request|prompt|prompt \(length|prompt is too long:|requested tokens)\s*\(?(\d{1,12})/i
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
