import type { ChatModelConfig } from '../config/config.ts'
import type { ChatEngine, ChatRequest } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { jsonBytes } from '../platform/json/write.ts'
import { countJsonTokens, countTokensInTurns as countTokens } from '../platform/tokenizer.ts'
import { turnTaker } from '../platform/turns.ts'

/** Tokens of a message besides its text, by the convention of the o200k models. */
const TOKENS_PER_MESSAGE = 3
/** Tokens that prime every answer. */
const TOKENS_PER_ANSWER = 3
/** Estimate for an image, audio or video, whose tokens only the engine could count. */
const TOKENS_PER_MEDIA_PART = 765

/**
 * Estimated input tokens of a request, for engines that report none: our tokenizer may not be the model's. Rejects with the reason of
 * `signal` when it aborts.
 */
export async function countRequest(request: ChatRequest, signal?: AbortSignal): Promise<number> {
  let tokens = TOKENS_PER_ANSWER
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE
    const { content } = message
    if (typeof content === 'string') tokens += await countTokens(content, signal)
    else
      for (const part of content ?? [])
        tokens += part.type === 'text' ? await countTokens(part.text, signal) : TOKENS_PER_MEDIA_PART
    if (message.role !== 'assistant' || !message.tool_calls) continue
    const calls = message.tool_calls.map(({ extra_content: _, ...call }) => call)
    tokens += await countJsonTokens(calls, signal)
  }
  if (request.tools) tokens += await countJsonTokens(request.tools, signal)
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

/** How long the input of one request is: counted at most once, and only when its upper bound does not answer. */
export type InputSize = {
  /** Input tokens; an upper bound of them if that is no more than `enough`. */
  atMost(enough: number): Promise<number>
  /** The same without asking the engine; null if an upper bound is no more than `enough`. */
  estimate(enough: number): Promise<number | null>
  count(): Promise<number>
  /** The engine's count, or else the estimate, if either was made. */
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
  let bound: number | null = null
  const estimate = async () => {
    estimated ??= await countRequest(request, signal)
    return estimated
  }
  const count = async () => {
    counted ??= (await countByEngine(engine, request, signal)) ?? (await estimate())
    return counted
  }
  return {
    count,
    counted: () => counted ?? estimated,
    async atMost(enough) {
      if (counted !== null) return counted
      bound ??= await maxTokensOf(request)
      return bound <= enough ? bound : count()
    },
    async estimate(enough) {
      if (counted !== null) return counted
      bound ??= await maxTokensOf(request)
      return bound <= enough ? null : estimate()
    },
  }
}

async function countByEngine(
  engine: Pick<ChatEngine, 'countTokens'>,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<number | null> {
  try {
    return (await engine.countTokens?.(request, signal)) ?? null
  } catch (error) {
    if (error instanceof EngineError) return null
    throw error
  }
}

/**
 * Without a limit of the client, limits the answer to the model's maximum, or to what the input leaves of the context if that is less:
 * servers reject an input and a limit that together are longer than the context.
 */
export function limitAnswer(
  request: ChatRequest,
  { max_output_tokens: max, context_length }: Pick<ChatModelConfig, 'max_output_tokens' | 'context_length'>,
  size: InputSize,
): Promise<void> | undefined {
  if (max === null || request.max_tokens !== undefined) return undefined
  request.max_tokens = max
  return context_length === null ? undefined : limitToRest(request, { max, context_length }, size)
}

async function limitToRest(
  request: ChatRequest,
  { max, context_length }: { max: number; context_length: number },
  size: InputSize,
): Promise<void> {
  const tokens = await size.estimate(context_length - max)
  if (tokens === null) return
  const rest = context_length - tokens
  // The server rejects an input that fills the context, or the estimate is wrong.
  if (rest > 0)
    request.max_tokens = Math.min(max, Math.max(rest - marginOf(tokens, context_length), Math.ceil(rest / 2)))
}

/** What an estimate may be short of: the tokens of a chat template, and those of a tokenizer that is not ours. */
function marginOf(tokens: number, context_length: number): number {
  return Math.min(TEMPLATE_TOKENS, Math.floor(context_length / 32)) + Math.ceil(tokens / 16)
}

/** Templates add marks to each message, and many a system prompt of their own. */
const TEMPLATE_TOKENS = 128

/**
 * An upper bound of the tokens of a request, without tokenizing it: every token is at least one byte.
 */
export async function maxTokensOf(request: ChatRequest): Promise<number> {
  let tokens = 64
  const turn = turnTaker()
  for (const message of request.messages) {
    const other = turn()
    if (other) await other
    tokens += MESSAGE_TOKENS_MAX
    const { content } = message
    if (typeof content === 'string') tokens += Buffer.byteLength(content)
    else
      for (const part of content ?? []) tokens += part.type === 'text' ? Buffer.byteLength(part.text) : MEDIA_TOKENS_MAX
    if (message.role !== 'assistant') continue
    tokens += Buffer.byteLength(message.reasoning ?? '') + Buffer.byteLength(message.refusal ?? '')
    if (message.tool_calls) tokens += await jsonBytes(message.tool_calls)
  }
  for (const member of [request.tools, request.response_format]) {
    if (member) tokens += await jsonBytes(member)
  }
  return tokens
}

const MESSAGE_TOKENS_MAX = 16
/** More than any engine here counts for an image. */
const MEDIA_TOKENS_MAX = 4096
