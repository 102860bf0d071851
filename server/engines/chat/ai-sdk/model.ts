/**
 * What is used of a language model of the AI SDK, as its packages have it in version 4 of the interface.
 * Source: https://github.com/vercel/ai/tree/main/packages/provider/src/language-model/v4
 */
export type LanguageModel = {
  specificationVersion: string
  doStream(options: CallOptions): PromiseLike<{ stream: ReadableStream<StreamPart> }>
  doGenerate(options: CallOptions): PromiseLike<WholeResult>
}

export type CallOptions = {
  prompt: PromptMessage[]
  maxOutputTokens?: number
  temperature?: number
  stopSequences?: string[]
  topP?: number
  topK?: number
  presencePenalty?: number
  frequencyPenalty?: number
  responseFormat?: { type: 'json'; schema?: Record<string, unknown>; name?: string; description?: string }
  seed?: number
  tools?: Tool[]
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string }
  reasoning?: string
  providerOptions?: Record<string, Record<string, unknown>>
  abortSignal?: AbortSignal
}

export type Tool = {
  type: 'function'
  name: string
  description?: string
  inputSchema: Record<string, unknown>
  strict?: boolean
}

type TextPart = { type: 'text'; text: string }
export type FilePart = { type: 'file'; mediaType: string; data: { type: 'data'; data: string } }
export type ToolCallPart = {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerOptions?: Record<string, Record<string, unknown>>
}
type ToolResultPart = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text'; value: string }
}

export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: Array<TextPart | FilePart> }
  | { role: 'assistant'; content: Array<TextPart | ToolCallPart> }
  | { role: 'tool'; content: ToolResultPart[] }

export type Warning = { type: string; feature?: string }

type Count = number | undefined
export type LanguageModelUsage = {
  inputTokens: { total: Count; cacheRead: Count }
  outputTokens: { total: Count; reasoning: Count }
  /** As the server wrote it. */
  raw?: unknown
}

/** Content of other types, such as sources, is skipped. */
export type WholeResult = {
  content: Array<
    | { type: 'text' | 'reasoning'; text: string }
    | Extract<StreamPart, { type: 'tool-call' | 'file' | 'reasoning-file' }>
  >
  finishReason: { unified: string; raw: string | undefined }
  usage: LanguageModelUsage
}

/** Parts of other types, such as the ends of blocks, are skipped. */
export type StreamPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | { type: 'text-delta' | 'reasoning-delta'; delta: string }
  | { type: 'tool-input-start'; id: string; toolName: string; providerMetadata?: unknown }
  | { type: 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string; providerMetadata?: unknown }
  | { type: 'finish'; usage: LanguageModelUsage; finishReason: { unified: string; raw: string | undefined } }
  | { type: 'error'; error: unknown }
  | { type: 'file' | 'reasoning-file' }
