import type { EngineErrorKind } from '../../engine-error.ts'
import type { ChatEvent } from '../contract.ts'

/** What the child loads. `package_url`: the module of `node-llama-cpp`. */
export type LoadOrder = {
  package_url: string
  model_file: string
  context_tokens: number | null
  sequences: number
  gpu: 'auto' | false
  threads: number
}

/** One item of a conversation as `node-llama-cpp` takes it. */
export type HistoryItem =
  | { type: 'system'; text: string }
  | { type: 'user'; text: string }
  | { type: 'model'; response: ModelPart[] }
export type ModelPart =
  | string
  | { type: 'functionCall'; name: string; params: unknown; result?: unknown; startsNewChunk?: boolean }
  | { type: 'segment'; segmentType: 'thought'; text: string; ended: true }

export type GrammarSchema = { [member: string]: unknown }
export type Functions = Record<string, { description?: string; params?: GrammarSchema }>

/** One choice to make, as the child understands it: everything is checked. `calls_max` null: as many as the model calls. */
export type ChoiceRequest = {
  history: HistoryItem[]
  functions: Functions | null
  calls_max: number | null
  /** `json`: any JSON object. */
  grammar: 'json' | GrammarSchema | null
  max_tokens: number | null
  thought_tokens: number | null
  stop: string[]
  bias: Array<[token: number, bias: number]>
  sampling: Sampling
}
export type Sampling = {
  temperature: number
  top_p: number
  top_k: number
  min_p: number
  seed: number
  penalty: { repetition: number; frequency: number; presence: number } | null
}

export type ToChild =
  | { type: 'load'; order: LoadOrder }
  | { type: 'generate' | 'count'; id: number; turn: ChoiceRequest }
  | { type: 'abort'; id: number }

/** Of an error in the child. `message` is for the log and holds nothing of a request. */
export type ChildFailure = {
  kind: EngineErrorKind
  message: string
  public_message?: string
  param?: string
  tokens?: { limit: number; asked: number }
}

/** `loaded` or `load_failed` once; then for each turn `accepted`, any `events`, and `done`; or `counted`; or `failed` in their place. */
export type FromChild =
  | { type: 'loaded'; context_tokens: number }
  | { type: 'load_failed'; message: string }
  | { type: 'accepted' | 'done'; id: number }
  | { type: 'events'; id: number; events: ChatEvent[] }
  | { type: 'counted'; id: number; tokens: number }
  | { type: 'failed'; id: number; failure: ChildFailure }
