import type { ChatModelConfig } from '../config/config.ts'
import { isHeavy, tokenWeight } from '../engines/chat/answer-weight.ts'
import type { ChatEngine, ChatMessage, ChatRequest } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { ApiError } from '../platform/errors.ts'
import { jsonBytes } from '../platform/json/write.ts'
import {
  type CountLimits,
  countJsonTokens,
  countTokensInTurns as countTokens,
  leastTokens,
} from '../platform/tokenizer.ts'
import { turnTaker } from '../platform/turns.ts'

/** Tokens of a message besides its text, by the convention of the o200k models. */
const TOKENS_PER_MESSAGE = 3
/** Tokens that prime every answer. */
const TOKENS_PER_ANSWER = 3
/** Estimate for an image, audio or video, whose tokens only the engine could count. */
const TOKENS_PER_MEDIA_PART = 765

/** Estimated input tokens of a request, for engines that report none: our tokenizer may not be the model's. */
export async function countInputTokens(
  request: ChatRequest,
  { signal, most = Number.POSITIVE_INFINITY }: CountLimits = {},
): Promise<number> {
  const tokens = TOKENS_PER_ANSWER + (await countMessages(request.messages, { signal, most }))
  return request.tools ? tokens + (await countJsonTokens(request.tools, { signal, most: most - tokens })) : tokens
}

/** Of messages alone. */
export async function countMessages(
  messages: readonly ChatMessage[],
  { signal, most = Number.POSITIVE_INFINITY }: CountLimits = {},
): Promise<number> {
  let tokens = 0
  for (const message of messages) {
    if (tokens > most) return tokens
    tokens += TOKENS_PER_MESSAGE
    const { content } = message
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])
    for (const part of parts)
      tokens +=
        part.type === 'text' ? await countTokens(part.text, { signal, most: most - tokens }) : TOKENS_PER_MEDIA_PART
    if (message.role !== 'assistant' || !message.tool_calls) continue
    const calls = message.tool_calls.map(({ extra_content: _, ...call }) => call)
    tokens += await countJsonTokens(calls, { signal, most: most - tokens })
  }
  return tokens
}

/** The deltas of one choice: of its text, with names and arguments of calls, and of its reasoning. */
export type ProducedChoice = { text: string[]; reasoning: string[] }

/** Output tokens of what an engine has produced, counted choice by choice. */
export async function countProduced(
  choices: readonly ProducedChoice[],
): Promise<{ output: number; reasoning: number }> {
  let text = 0
  let reasoning = 0
  for (const choice of choices) {
    if (choice === undefined) continue
    text += await countTokens(choice.text.join(''))
    reasoning += await countTokens(choice.reasoning.join(''))
  }
  return { output: text + reasoning, reasoning }
}

/** How long the input of one request is: counted at most once, and no further than it matters. */
export type InputSize = {
  /** What the input is at least and at most, without counting it. */
  bounds(): Promise<TokenBounds>
  /** Input tokens. Of more than `most` only that much is known: the result is more than `most`, and the input was not counted to its end. */
  count(most: number): Promise<number>
  /** The same without asking the engine. */
  estimate(most: number): Promise<number>
  /** The engine's count, or else the estimate, if either was made to the end of the input. */
  counted(): number | null
}

/** Input tokens are as the engine counts them when it can, otherwise an estimate: what it cannot count it rejects when it is asked. */
export function inputSize(
  engine: Pick<ChatEngine, 'countTokens'>,
  request: ChatRequest,
  signal: AbortSignal,
): InputSize {
  let counted: number | null = null
  let estimated: number | null = null
  let known: TokenBounds | null = null
  const bounds = async () => {
    known ??= await boundsOf(request, signal)
    return known
  }
  const estimate = async (most: number) => {
    if (counted !== null || estimated !== null) return (counted ?? estimated)!
    const { least } = await bounds()
    if (least > most) return least
    const tokens = await countInputTokens(request, { signal, most })
    if (tokens <= most) estimated = tokens
    return tokens
  }
  return {
    bounds,
    estimate,
    counted: () => counted ?? estimated,
    async count(most) {
      if (counted !== null) return counted
      const { least } = await bounds()
      if (least > most) return least
      const tokens = (await countByEngine(engine, request, { signal, most })) ?? (await estimate(most))
      if (tokens <= most) counted = tokens
      return tokens
    },
  }
}

async function countByEngine(
  engine: Pick<ChatEngine, 'countTokens'>,
  request: ChatRequest,
  { signal, most }: { signal: AbortSignal; most: number },
): Promise<number | null> {
  try {
    return (await engine.countTokens?.(request, signal, most)) ?? null
  } catch (error) {
    if (error instanceof EngineError) return null
    throw error
  }
}

/**
 * Without a limit of the client, limits the answer to the model's maximum, or to what the input leaves of the context if that is less:
 * servers reject an input and a limit that together are longer than the context. Of many choices, or with many log probabilities for each
 * token, an answer is limited to what one answer may be in memory, whatever the client asks. Rejects with ApiError `context_length_exceeded` when the
 * input is far longer than the context, without asking the server.
 */
export function limitAnswer(
  request: ChatRequest,
  { max_output_tokens: max, context_length }: Pick<ChatModelConfig, 'max_output_tokens' | 'context_length'>,
  size: InputSize,
): Promise<void> | undefined {
  const most = isHeavy(request) ? Math.floor(ANSWER_WEIGHT_MAX / tokenWeight(request)) : null
  const limit = request.max_tokens === undefined ? lesser(max, most) : null
  const asked = limit ?? request.max_tokens
  if (asked !== undefined) request.max_tokens = lesser(asked, most)!
  return context_length === null ? undefined : limitToRest(request, { limit, context_length }, size)
}

/** What an answer may weigh with all its choices: about 19 MB of JSON. */
const ANSWER_WEIGHT_MAX = 2_097_152

function lesser(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

async function limitToRest(
  request: ChatRequest,
  { limit: max, context_length }: { limit: number | null; context_length: number },
  size: InputSize,
): Promise<void> {
  const { least, most, media } = await size.bounds()
  // What the server counts for media may be far less than the estimate.
  const tooMany = countedMost(context_length) + media
  if (least > tooMany) throw inputTooLong(context_length, least, 'messages')
  if (max === null || most <= context_length - max) return
  const tokens = await size.estimate(tooMany)
  if (tokens > tooMany) throw inputTooLong(context_length, tokens, 'messages')
  const rest = context_length - tokens
  // The server rejects an input that fills the context, or the estimate is wrong.
  if (rest > 0)
    request.max_tokens = Math.min(max, Math.max(rest - marginOf(tokens, context_length), Math.ceil(rest / 2)))
}

/**
 * How far an input is counted: beyond twice the context the server would reject it, however its tokenizer differs from ours. Up to there
 * errors have the number of tokens.
 */
export function countedMost(context_length: number): number {
  return 2 * context_length
}

/** The input is longer than the context. `tokens`: as far as it was counted. Source: contract 2.3. */
export function inputTooLong(context_length: number, tokens: number, param: 'messages' | 'input'): ApiError {
  const counted = tokens > countedMost(context_length) ? `more than ${context_length}` : tokens
  const text = `This model's maximum context length is ${context_length} tokens. However, your input resulted in ${counted} tokens. Please reduce the length of the ${param}.`
  return new ApiError('context_length_exceeded', text, { param })
}

/** What an estimate may be short of: the tokens of a chat template, and those of a tokenizer that is not ours. */
function marginOf(tokens: number, context_length: number): number {
  return Math.min(TEMPLATE_TOKENS, Math.floor(context_length / 32)) + Math.ceil(tokens / 16)
}

/** Templates add marks to each message, and many a system prompt of their own. */
const TEMPLATE_TOKENS = 128

/** What the input tokens of a request are at least and at most, without tokenizing it. `media`: the estimate of images, sounds and videos. */
export type TokenBounds = { least: number; most: number; media: number }

/** Every token is at least one byte, and at most as long as `leastTokens` says. Of media and what surrounds texts, `least` has nothing. */
export async function boundsOf(request: ChatRequest, signal?: AbortSignal): Promise<TokenBounds> {
  /** Bytes of what every engine counts. */
  let text = 0
  let more = 64
  let media = 0
  const turn = turnTaker(undefined, signal)
  for (const message of request.messages) {
    const other = turn()
    if (other) await other
    more += MESSAGE_TOKENS_MAX
    const { content } = message
    if (typeof content === 'string') text += Buffer.byteLength(content)
    else
      for (const part of content ?? [])
        if (part.type === 'text') text += Buffer.byteLength(part.text)
        else media++
    if (message.role !== 'assistant') continue
    more += Buffer.byteLength(message.reasoning ?? '') + Buffer.byteLength(message.refusal ?? '')
    if (!message.tool_calls) continue
    const given = message.tool_calls.reduce((sum, call) => sum + Buffer.byteLength(call.function.arguments), 0)
    text += given
    // As JSON they are longer, and have names and ids.
    more += (await jsonBytes(message.tool_calls, signal)) - given
  }
  if (request.tools) text += await jsonBytes(request.tools, signal)
  if (request.response_format) more += await jsonBytes(request.response_format, signal)
  return {
    least: leastTokens(text),
    most: text + more + media * MEDIA_TOKENS_MAX,
    media: media * TOKENS_PER_MEDIA_PART,
  }
}

const MESSAGE_TOKENS_MAX = 16
/** More than any engine here counts for an image. */
const MEDIA_TOKENS_MAX = 4096
