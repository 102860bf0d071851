import type { AssistantMessage, Tokens } from '../conversation/conversation.ts'

/** A chunk of a streamed answer, read leniently. Source: docs/api/chat.md, Stream. */
export type Chunk = {
  choices?: Array<{
    index: number
    delta?: {
      content?: string | null
      refusal?: string | null
      reasoning_content?: string | null
      tool_calls?: Array<{ index: number; id?: string; function?: { name?: string; arguments?: string } }>
    }
    finish_reason?: string | null
  }>
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens?: number }
    completion_tokens_details?: { reasoning_tokens?: number }
  } | null
  error?: { type: string; code: string; param: string | null }
}

/** Appends a chunk to the answer. */
export function applyChunk(answer: AssistantMessage, { choices = [], usage }: Chunk): void {
  for (const { delta = {}, finish_reason } of choices) {
    answer.text += delta.content ?? ''
    answer.refusal += delta.refusal ?? ''
    answer.reasoning += delta.reasoning_content ?? ''
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      answer.tool_calls[index] ??= { id: id ?? `call_${index}`, name: '', arguments: '', result: null }
      const call = answer.tool_calls[index]
      answer.tool_calls[index] = {
        ...call,
        name: call.name + (called?.name ?? ''),
        arguments: call.arguments + (called?.arguments ?? ''),
      }
    }
    if (finish_reason) answer.finish_reason = finish_reason
  }
  if (usage) answer.tokens = tokensOf(usage)
}

function tokensOf(usage: NonNullable<Chunk['usage']>): Tokens {
  return {
    input: usage.prompt_tokens,
    cached_input: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}
