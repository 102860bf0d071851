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

/** Tokens of messages by themselves, by the estimate. */
export async function countMessages(messages: ChatMessage[]): Promise<number> {
  return (await countRequest({ ...NOTHING, messages })) - (await countRequest(NOTHING))
}

const NOTHING: ChatRequest = { model: '', messages: [], n: 1, stream: false }

/**
 * A number of tokens that no request of these contents has more of, told without looking at a word: every token stands for at least one
 * byte.
 */
export async function tokensAtMost(request: ChatRequest): Promise<number> {
  let most = 64
  const turn = turnTaker()
  for (const message of request.messages) {
    const other = turn()
    if (other) await other
    most += MESSAGE_TOKENS_MAX
    const { content } = message
    if (typeof content === 'string') most += Buffer.byteLength(content)
    else
      for (const part of content ?? []) most += part.type === 'text' ? Buffer.byteLength(part.text) : MEDIUM_TOKENS_MAX
    if (message.role !== 'assistant') continue
    most += Buffer.byteLength(message.reasoning ?? '') + Buffer.byteLength(message.refusal ?? '')
    if (message.tool_calls) most += await jsonBytes(message.tool_calls)
  }
  for (const member of [request.tools, request.response_format]) {
    if (member) most += await jsonBytes(member)
  }
  return most
}

const MESSAGE_TOKENS_MAX = 16
/** More than any engine here counts for a picture. */
const MEDIUM_TOKENS_MAX = 4096
