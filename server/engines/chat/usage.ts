import { asRecord } from '../../platform/json/record.ts'
import type { TokenUsage } from './contract.ts'

/**
 * The counts of a `usage` object, or null when they are not whole numbers. A missing detail is 0, and no detail exceeds its total. Sources
 * beside contract 9.3: Anthropic's names (`input_tokens`, `cache_read_input_tokens`); DeepSeek `prompt_cache_hit_tokens`; Moonshot
 * `cached_tokens`; SGLang `reasoning_tokens`, beside the totals.
 */
export function readUsage(value: unknown): TokenUsage | null {
  const usage = asRecord(value)
  if (usage === null) return null
  const isBeside = usage.prompt_tokens == null && usage.cache_read_input_tokens != null
  const input = isBeside ? anthropicInput(usage) : (usage.prompt_tokens ?? usage.input_tokens)
  const output = usage.completion_tokens ?? usage.output_tokens ?? restOf(usage.total_tokens, input)
  if (!isCount(input) || !isCount(output)) return null
  const inputs = asRecord(usage.prompt_tokens_details ?? usage.input_tokens_details) ?? {}
  const outputs = asRecord(usage.completion_tokens_details ?? usage.output_tokens_details) ?? {}
  const cached = countIn(
    inputs.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.cache_read_input_tokens,
    inputs.cache_read_input_tokens,
    usage.num_cached_tokens,
  )
  const reasoning = countIn(outputs.reasoning_tokens, usage.reasoning_tokens)
  const rest = isCount(usage.total_tokens) ? Math.max(0, usage.total_tokens - input - output) : 0
  const read = withRest({ input, output, cached, reasoning, rest })
  const audio_input = countIn(inputs.audio_tokens)
  const audio_output = countIn(outputs.audio_tokens)
  return {
    ...(audio_input > 0 && { audio_input: Math.min(audio_input, read.input) }),
    ...(audio_output > 0 && { audio_output: Math.min(audio_output, read.output) }),
    ...read,
  }
}

/** Some servers leave out the completion and report the total. */
function restOf(total: unknown, input: unknown): number | undefined {
  return isCount(total) && isCount(input) ? total - input : undefined
}

/** Anthropic counts what is read from the cache, or written to it, beside the input. */
function anthropicInput({
  input_tokens,
  cache_read_input_tokens,
  cache_creation_input_tokens,
}: Record<string, unknown>) {
  return isCount(input_tokens)
    ? input_tokens + countIn(cache_read_input_tokens) + countIn(cache_creation_input_tokens)
    : null
}

/** Of two reports of one answer, the one that counts: the last, unless it has lost the tokens of the output. */
export function laterUsage(before: TokenUsage | null, now: TokenUsage | null): TokenUsage | null {
  if (now === null || (before !== null && now.output === 0 && before.output > 0)) return before
  return now
}

/** The usage as an engine may report it. Zeros where something was produced are none: the caller counts. */
export function plausibleUsage(usage: TokenUsage | null, produced: boolean): TokenUsage | null {
  return usage === null || (produced && (usage.input === 0 || usage.output === 0)) ? null : usage
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The first count above zero: servers fill in zeros for what they do not count. */
function countIn(...values: unknown[]): number {
  return values.find((value): value is number => isCount(value) && value > 0) ?? 0
}

type Counts = { input: number; output: number; cached: number; reasoning: number; rest: number }

/**
 * Adds what the total has beyond prompt and completion, by the details that account for it: xAI counts reasoning beside the completion,
 * Anthropic's cache is beside the input. Gemini's total alone has the reasoning: `unlisted`, for the caller, who knows the model.
 * Source: https://docs.x.ai/docs/guides/reasoning, https://ai.google.dev/gemini-api/docs/openai
 */
function withRest({ input, output, cached, reasoning, rest }: Counts): TokenUsage {
  const isCacheBeside = rest !== reasoning && (rest === cached || rest === cached + reasoning)
  const beside = rest - (isCacheBeside ? cached : 0)
  const all_input = input + rest - beside
  const all_output = output + (reasoning > 0 ? beside : 0)
  return {
    input: all_input,
    cached_input: Math.min(cached, all_input),
    output: all_output,
    reasoning: Math.min(reasoning, all_output),
    ...(beside > 0 && reasoning === 0 && { unlisted: beside }),
  }
}
