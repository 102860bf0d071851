import { countRequest } from '../../chat/count.ts'
import type { ChatMessage, ChatRequest } from '../../engines/chat/contract.ts'

/** Estimated tokens of messages without the rest of a request. */
export async function countMessages(messages: ChatMessage[]): Promise<number> {
  return (await countRequest({ ...EMPTY, messages })) - (await countRequest(EMPTY))
}

const EMPTY: ChatRequest = { model: '', messages: [], n: 1, stream: false }
