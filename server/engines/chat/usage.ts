import { asRecord } from '../../platform/json/record.ts'
import type { TokenUsage } from './contract.ts'

/**
 * The counts of a `usage` object, or null when they are not whole numbers. A missing detail is 0. Sources beside contract 9.3: Anthropic's
 * names (`input_tokens`, `cache_read_input_tokens`); DeepSeek `prompt_cache_hit_tokens`; Moonshot `cached_tokens`; SGLang
 * `reasoning_tokens`, beside the totals.
 */
export function readUsage(value: unknown): TokenUsage | null {
  const usage = asRecord(value)
  if (usage === null) return null
  const written = countIn(usage.cache_creation_input_tokens)
  const isBeside = usage.prompt_tokens == null && (usage.cache_read_input_tokens != null || written > 0)
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
  const read = withBeside({ input, output, cached, written, reasoning, rest })
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

/** Two reports of one answer: the last counts, but for the input or the output if it has lost that. */
export function laterUsage(before: TokenUsage | null, now: TokenUsage | null): TokenUsage | null {
  if (before === null || now === null) return now ?? before
  const { input, cached_input, audio_input } = now.input > 0 ? now : before
  const { output, reasoning, audio_output, unlisted } = now.output > 0 ? now : before
  return {
    input,
    cached_input,
    output,
    reasoning,
    ...(audio_input !== undefined && { audio_input }),
    ...(audio_output !== undefined && { audio_output }),
    ...(unlisted !== undefined && { unlisted }),
  }
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

/** `written`: to the cache. `rest`: what the total has beyond input and output. */
type Counts = { input: number; output: number; cached: number; written: number; reasoning: number; rest: number }

/**
 * Adds what is beside prompt and completion: what accounts for the rest of the total, and parts that are greater than their whole. xAI counts
 * reasoning beside the completion, as does Perplexity, without a trace in the total; Anthropic's cache is beside the input. Gemini's total
 * alone has the reasoning: `unlisted`, for the caller, who knows the model.
 * Source: https://docs.x.ai/docs/guides/reasoning, https://ai.google.dev/gemini-api/docs/openai,
 * https://github.com/bgeneto/open-webui-cost-tracker/issues/6
 */
function withBeside(counts: Counts): TokenUsage {
  const cache = cacheBeside(counts)
  const rest = Math.max(0, counts.rest - cache)
  const reasoning = rest === 0 && counts.reasoning > counts.output ? counts.reasoning : rest
  const input = counts.input + cache
  const output = counts.output + (counts.reasoning > 0 ? reasoning : 0)
  return {
    input,
    cached_input: Math.min(counts.cached, input),
    output,
    reasoning: Math.min(counts.reasoning, output),
    ...(rest > 0 && counts.reasoning === 0 && { unlisted: rest }),
  }
}

function cacheBeside({ input, cached, written, reasoning, rest }: Counts): number {
  const all = cached + written
  const accounts = (part: number) => part > 0 && rest !== reasoning && (rest === part || rest === part + reasoning)
  return [all, cached, written].find(accounts) ?? (Math.max(cached, written) > input ? all : 0)
}
