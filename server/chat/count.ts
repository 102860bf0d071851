import type { ChatRequest } from '../engines/chat/contract.ts'
import { countJsonTokens, countTokensInTurns as countTokens } from '../platform/tokenizer.ts'

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
