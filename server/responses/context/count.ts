import { countRequest } from '../../chat/count.ts'
import type { ChatEngine, ChatMessage, ChatRequest } from '../../engines/chat/contract.ts'
import { jsonBytes } from '../../platform/json/write.ts'
import { turnTaker } from '../../platform/turns.ts'

/** Input tokens of a request: as the engine counts them when it can, otherwise an estimate. */
export function countInput(
  engine: Pick<ChatEngine, 'countTokens'>,
  request: ChatRequest,
  left: AbortSignal,
): Promise<number> {
  return engine.countTokens?.(request, left) ?? countRequest(request, left)
}

/** Estimated tokens of messages without the rest of a request. */
export async function countMessages(messages: ChatMessage[]): Promise<number> {
  return (await countRequest({ ...EMPTY, messages })) - (await countRequest(EMPTY))
}

const EMPTY: ChatRequest = { model: '', messages: [], n: 1, stream: false }

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
