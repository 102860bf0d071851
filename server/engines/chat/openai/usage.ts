import { asRecord } from '../../../platform/json/record.ts'
import type { TokenUsage } from '../contract.ts'

/**
 * What a `usage` object says, or null when it does not say it in whole numbers. Parts never exceed their whole. A missing detail is 0.
 * Source: contract 9.3; beside it DeepSeek `prompt_cache_hit_tokens`; SGLang `reasoning_tokens` beside the totals.
 */
export function readUsage(value: unknown): TokenUsage | null {
  const usage = asRecord(value)
  if (usage === null) return null
  const { prompt_tokens: input, completion_tokens: output } = usage
  if (!isCount(input) || !isCount(output)) return null
  const cached = asRecord(usage.prompt_tokens_details)?.cached_tokens ?? usage.prompt_cache_hit_tokens
  const reasoning = asRecord(usage.completion_tokens_details)?.reasoning_tokens ?? usage.reasoning_tokens
  const heard = asRecord(usage.prompt_tokens_details)?.audio_tokens
  const spoken = asRecord(usage.completion_tokens_details)?.audio_tokens
  return {
    ...(isCount(heard) && heard > 0 && { audio_input: Math.min(heard, input) }),
    ...(isCount(spoken) && spoken > 0 && { audio_output: Math.min(spoken, output) }),
    input,
    cached_input: isCount(cached) ? Math.min(cached, input) : 0,
    output,
    reasoning: isCount(reasoning) ? Math.min(reasoning, output) : 0,
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
