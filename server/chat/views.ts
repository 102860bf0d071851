import type { TokenUsage } from '../engines/chat/contract.ts'
import type { UsageView } from './schema.ts'

/** What every part of one answer says alike. `model` is the id the client asked for, never the engine's name. */
export type AnswerHead = { id: string; created: number; model: string }

export function usageView(usage: TokenUsage): UsageView {
  const { input, cached_input, output, reasoning, audio_input = 0, audio_output = 0 } = usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached_input, audio_tokens: audio_input },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audio_output },
  }
}
