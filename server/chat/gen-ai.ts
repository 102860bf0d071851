/**
 * The attributes of spans of model calls, by the names of version 1.45.0 of OpenTelemetry's semantic conventions: the last that listed them
 * before they moved to a repository of their own, which has no release yet. They are not stable there. `gen_ai.input.messages` and its like
 * have no line here: spans carry no content.
 * Source: https://github.com/open-telemetry/semantic-conventions-genai
 */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  request_model: 'gen_ai.request.model',
  response_model: 'gen_ai.response.model',
  stream: 'gen_ai.request.stream',
  choices: 'gen_ai.request.choice.count',
  max_tokens: 'gen_ai.request.max_tokens',
  first_chunk: 'gen_ai.response.time_to_first_chunk',
  input_tokens: 'gen_ai.usage.input_tokens',
  cached_tokens: 'gen_ai.usage.cache_read.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  reasoning_tokens: 'gen_ai.usage.reasoning.output_tokens',
} as const
