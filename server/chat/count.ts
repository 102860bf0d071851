import type { ChatRequest } from '../engines/chat/contract.ts'
import { countJsonTokens, countTokensInTurns as countTokens } from '../platform/tokenizer.ts'

/** What a message costs beside its text, by the convention of the o200k models. */
const TOKENS_PER_MESSAGE = 3
/** Every answer is primed with these. */
const TOKENS_PER_ANSWER = 3
/** A picture, sound or clip whose tokens only the engine could know. */
const TOKENS_PER_MEDIUM = 765

/**
 * Input tokens of a request, for engines that do not say: an estimate by a tokenizer that may not be the model's. Rejects with the reason
 * of `signal` once it is aborted.
 */
export async function countRequest(request: ChatRequest, signal?: AbortSignal): Promise<number> {
  let tokens = TOKENS_PER_ANSWER
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE
    const { content } = message
    if (typeof content === 'string') tokens += await countTokens(content, signal)
    else
      for (const part of content ?? [])
        tokens += part.type === 'text' ? await countTokens(part.text, signal) : TOKENS_PER_MEDIUM
    if (message.role === 'assistant' && message.tool_calls) tokens += await countJsonTokens(message.tool_calls, signal)
  }
  if (request.tools) tokens += await countJsonTokens(request.tools, signal)
  return tokens
}

/** The pieces of one choice as they came: what it said, names and arguments of calls among it, and what it thought. */
export type ProducedChoice = { said: string[]; thought: string[] }

/** Output tokens of what an engine has produced. Choices come interleaved, and are counted each by itself. */
export async function countProduced(
  choices: readonly ProducedChoice[],
): Promise<{ output: number; reasoning: number }> {
  let said = 0
  let reasoning = 0
  for (const choice of choices) {
    if (choice === undefined) continue
    said += await countTokens(choice.said.join(''))
    reasoning += await countTokens(choice.thought.join(''))
  }
  return { output: said + reasoning, reasoning }
}
