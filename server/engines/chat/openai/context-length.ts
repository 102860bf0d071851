import type { ContextOverflow } from '../../engine-error.ts'

/**
 * Whether an error of a model server means that the request is too long, and its token counts when it names them. The forms of OpenAI, vLLM,
 * SGLang, llama.cpp, Ollama, OpenRouter and DeepSeek are in the tests.
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
  const limit = error.n_ctx ?? numberOf(LIMIT, message)
  const asked = error.n_prompt_tokens ?? numberOf(ASKED, message)
  return { tokens: figures(limit, asked, numberOf(ANSWER, message)) }
}

const CODES = new Set(['context_length_exceeded', 'exceed_context_size_error', 'context_exceeded'])

const ABOUT_LENGTH = [
  /(maximum|model's|available|configured) (context|input) (length|size|window)/i,
  /maximum model length/i,
  /context length is only/i,
  /exceeds? (the |maximum |available )*context (length|size|window)/i,
  /input tokens exceed/i,
  /prompt is too long/i,
]

const LIMIT =
  /(?:maximum context length (?:is|of)|maximum model length of|context length is only|context length|context size|context window of|configured limit of|\d tokens >)\s*\(?(\d{1,12})/i
const ASKED =
  /(?:resulted in|requested a total of|requested about|requested|request has|you passed|passed|input|request|prompt|prompt \(length|prompt is too long:|requested tokens)\s*\(?(\d{1,12})/i
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
