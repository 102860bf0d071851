import type { UpstreamState } from '../upstream-health.ts'

/** One piece of a message. URLs are http(s) or `data:`; files of ours have become one or the other before the engine sees them. */
export type ChatPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: 'video_url'; video_url: { url: string } }
  | { type: 'audio_url'; audio_url: { url: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' | 'flac' | 'ogg' | 'm4a' } }

export type TextPart = Extract<ChatPart, { type: 'text' }>

/**
 * What a server wants back with a call in the next request, and no one here reads: Gemini's `{ google: { thought_signature } }`, and
 * OpenRouter's `{ openrouter: { reasoning_details } }`, which is of the message there.
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export type ExtraContent = Record<string, unknown>

/** `arguments` is JSON text as the model wrote it, valid or not. */
export type ChatToolCall = {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  extra_content?: ExtraContent
}

export type ChatMessage =
  | { role: 'system' | 'developer'; content: string | TextPart[]; name?: string }
  | { role: 'user'; content: string | ChatPart[]; name?: string }
  | {
      role: 'assistant'
      content: string | TextPart[] | null
      name?: string
      tool_calls?: ChatToolCall[]
      refusal?: string
      reasoning?: string
    }
  | { role: 'tool'; tool_call_id: string; content: string | TextPart[] }

export type ChatTool = {
  type: 'function'
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean }
}

export type ChatToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function'; function: { name: string } }
  | {
      type: 'allowed_tools'
      allowed_tools: { mode: 'auto' | 'required'; tools: Array<{ type: 'function'; function: { name: string } }> }
    }

export type ChatResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema'
      json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean }
    }

/**
 * The request to a chat engine: checked, resolved, and only what may be forwarded. A member is absent when the client did not send it.
 * Source: docs/api/chat.md.
 */
export type ChatRequest = {
  /** The engine's name for the model. */
  model: string
  messages: ChatMessage[]
  n: number
  temperature?: number
  top_p?: number
  top_k?: number
  min_p?: number
  repetition_penalty?: number
  frequency_penalty?: number
  presence_penalty?: number
  seed?: number
  stop?: string[]
  /** Output tokens, reasoning included. */
  max_tokens?: number
  logprobs?: boolean
  top_logprobs?: number
  logit_bias?: Record<string, number>
  response_format?: ChatResponseFormat
  tools?: ChatTool[]
  tool_choice?: ChatToolChoice
  parallel_tool_calls?: boolean
  reasoning_effort?: string
  user?: string
  /** Members of the client's body that the model's configuration lets through as they are. */
  extra?: Record<string, unknown>
  /** Whether the client streams; an engine may then prefer small pieces to few. */
  stream: boolean
}

export type TokenLogprob = {
  token: string
  logprob: number
  bytes: number[] | null
  top_logprobs: Array<{ token: string; logprob: number; bytes: number[] | null }>
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * Tokens of one call. `cached_input` and `audio_input` are part of `input`, `reasoning` and `audio_output` part of `output`. `unlisted`: what
 * the server's total has beyond both, without saying of what; of a model that reasons it is reasoning.
 */
export type TokenUsage = {
  input: number
  cached_input: number
  output: number
  reasoning: number
  audio_input?: number
  audio_output?: number
  unlisted?: number
}

/**
 * What an engine emits for one answer, in order. `choice` counts from 0. The first `tool-call-delta` of a call has `id` and `name`,
 * the others neither; `call` counts the calls of a choice from 0, and the arguments of a call that is to be run are never empty. Each choice
 * ends with one `finish`; `end` comes last, once, after every choice has finished. A stream that stops without `end` has failed.
 */
export type ChatEvent =
  | { type: 'reasoning-delta'; choice: number; text: string }
  | { type: 'text-delta'; choice: number; text: string; logprobs?: TokenLogprob[] }
  | { type: 'refusal-delta'; choice: number; text: string }
  | {
      type: 'tool-call-delta'
      choice: number
      call: number
      id?: string
      name?: string
      arguments: string
      extra_content?: ExtraContent
    }
  /** The server has given a reason, and goes on: most likely only the usage is still to come. No client sees it. */
  | { type: 'finishing'; choice: number }
  | { type: 'finish'; choice: number; reason: FinishReason }
  /** What one choice has used, from engines that ask for each by a call of its own: it holds when another call fails. No client sees it. */
  | { type: 'choice-usage'; choice: number; usage: TokenUsage }
  /** Null when the engine reported none, or zero tokens beside an answer: the caller counts. */
  | { type: 'end'; usage: TokenUsage | null }

/**
 * One chat engine: a request becomes a stream of events, in batches as they arrived, so that one read of a socket costs one turn of the
 * loop. `generate` resolves once the engine has accepted the request; a refusal is thrown there and can still become an HTTP status.
 * Throws EngineError, before or between batches. Ending the iteration early, or `signal`, ends the work.
 */
export type ChatEngine = {
  /** Whether http(s) URLs of clients are handed over for the engine to fetch; otherwise the caller fetches them. `unread`: it fetches none. */
  fetches_urls: boolean | 'unread'
  /** What stored files become: signed URLs of ours, or `data:` URLs for an engine that cannot reach this service. */
  inputs: 'url' | 'data'
  /** Whether it takes the reasoning of earlier messages. */
  takes_reasoning?: boolean
  generate(request: ChatRequest, signal: AbortSignal): Promise<AsyncIterable<readonly ChatEvent[]>>
  /** Input tokens as the engine counts them; absent when it cannot count. It may stop once they are more than `most`. */
  countTokens?(request: ChatRequest, signal: AbortSignal, most?: number): Promise<number>
  /** The circuit breakers of its servers, where it has any. */
  breakers?(): readonly UpstreamState[]
  close?(): Promise<void>
}
