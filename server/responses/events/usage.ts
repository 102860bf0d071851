import type { TokenUsage } from '../../engines/chat/contract.ts'
import type { ResponseUsage } from '../schema/response.ts'

/** Tokens as a response shows them. */
export function usageView({ input, cached_input, output, reasoning }: TokenUsage): ResponseUsage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached_input },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
