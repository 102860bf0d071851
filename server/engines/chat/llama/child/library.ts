import type { Functions, GrammarSchema, HistoryItem } from '../protocol.ts'

/**
 * What we use of `node-llama-cpp`, which is not installed with Kinora and so has no types here.
 * Source: https://node-llama-cpp.withcat.ai/api
 */
export type Library = {
  getLlama(options: {
    gpu: 'auto' | false
    build: 'never'
    skipDownload: true
    progressLogs: false
    logLevel: 'error'
    logger(level: string, message: string): void
    maxThreads: number
  }): Promise<Llama>
  resolveChatWrapper(model: LlamaModel): ChatWrapper
  LlamaChat: new (options: { contextSequence: Sequence; chatWrapper: ChatWrapper }) => Chat
  TokenBias: new (tokenizer: unknown) => Bias
}

export type Llama = {
  loadModel(options: { modelPath: string; gpuLayers?: 0 }): Promise<LlamaModel>
  createGrammarForJsonSchema(schema: GrammarSchema): Promise<unknown>
  getGrammarFor(kind: 'json'): Promise<unknown>
}

export type LlamaModel = {
  readonly tokenizer: unknown
  readonly trainContextSize: number
  createContext(options: {
    contextSize: number
    sequences: number
    threads: number
    failedCreationRemedy: false
  }): Promise<{ readonly contextSize: number; getSequence(): Sequence }>
}

/** One conversation's part of the model's memory. */
export type Sequence = {
  readonly tokenMeter: { readonly usedOutputTokens: number }
  clearHistory(): Promise<void>
}

export type ChatWrapper = {
  generateContextState(options: { chatHistory: HistoryItem[]; availableFunctions?: Functions }): {
    contextText: { tokenize(tokenizer: unknown): number[] }
  }
}

type Bias = { set(token: number, bias: 'never' | { logit: number }): unknown }

type ResponseChunk = { type?: 'segment'; text: string; tokens: number[] }
type ParamsChunk = { callIndex: number; functionName: string; paramsChunk: string; done: boolean }

type GenerateOptions = {
  signal: AbortSignal
  maxTokens: number
  temperature: number
  topP: number
  topK: number
  minP: number
  seed: number
  repeatPenalty:
    | false
    | { lastTokens: number; penalty: number; frequencyPenalty: number; presencePenalty: number; penalizeNewLine: true }
  tokenBias?: Bias
  customStopTriggers?: string[]
  budgets?: { thoughtTokens: number }
  grammar?: unknown
  functions?: Functions
  maxParallelFunctionCalls?: number
  contextShift: { size: 1; strategy(options: { chatHistory: HistoryItem[] }): { chatHistory: HistoryItem[] } }
  onResponseChunk(chunk: ResponseChunk): void
  onFunctionCallParamsChunk?(chunk: ParamsChunk): void
}

export type Chat = {
  generateResponse(
    history: HistoryItem[],
    options: GenerateOptions,
  ): Promise<{
    functionCalls?: Array<{ functionName: string; params: unknown }>
    metadata: { stopReason: string }
  }>
}
