import { randomInt } from 'node:crypto'
import { argumentsOf } from '../call-arguments.ts'
import type { ChatRequest, ChatTool } from '../contract.ts'
import { grammarSchema } from './grammar-schema.ts'
import { historyOf } from './history.ts'
import type { ChoiceRequest, Functions, Sampling } from './protocol.ts'
import { refusal } from './refuse.ts'

/** What `llama-server` samples with when a request does not say. */
const DEFAULTS = { temperature: 0.8, top_p: 0.95, top_k: 40, min_p: 0.05 }

/** Tokens that a model may spend on its thoughts, by `reasoning_effort`; null is no limit. */
const THOUGHT_TOKENS: Readonly<Record<string, number | null>> = {
  none: 0,
  minimal: 128,
  low: 512,
  medium: 2048,
  high: null,
  xhigh: null,
}

/**
 * One choice of a request, checked. Throws EngineError `rejected`, naming the field, for what this engine cannot do. `signal`: see
 * `argumentsOf`.
 */
export async function readRequest(
  request: ChatRequest,
  system_messages?: 'merged' | 'separate',
  signal?: AbortSignal,
): Promise<ChoiceRequest> {
  refuseUnsupported(request)
  const functions = functionsOf(request)
  const grammar = grammarOf(request)
  if (functions !== null && grammar !== null)
    throw refusal('response_format', 'cannot be combined with tools; send one of the two')
  return {
    history: historyOf(request.messages, await argumentsOf(request.messages, signal), system_messages),
    functions,
    calls_max: request.parallel_tool_calls === false ? 1 : null,
    grammar,
    max_tokens: request.max_tokens ?? null,
    thought_tokens: request.reasoning_effort === undefined ? null : thoughtTokens(request.reasoning_effort),
    stop: request.stop ?? [],
    bias: Object.entries(request.logit_bias ?? {}).map(([token, bias]) => [Number(token), bias]),
    sampling: samplingOf(request),
  }
}

function refuseUnsupported(request: ChatRequest): void {
  if (request.n !== 1) throw refusal('n', 'must be 1 here')
  if (request.logprobs === true || request.top_logprobs !== undefined)
    throw refusal('logprobs', 'a local model reports no probabilities')
  const [extra] = Object.keys(request.extra ?? {})
  if (extra !== undefined) throw refusal(extra, 'a local model has no such parameter')
  const token = Object.keys(request.logit_bias ?? {}).find((each) => !/^\d{1,9}$/.test(each))
  if (token !== undefined) throw refusal('logit_bias', 'must have ids of tokens as its keys')
}

function samplingOf(request: ChatRequest): Sampling {
  const {
    repetition_penalty: repetition = 1,
    frequency_penalty: frequency = 0,
    presence_penalty: presence = 0,
  } = request
  const penalized = repetition !== 1 || frequency !== 0 || presence !== 0
  return {
    temperature: request.temperature ?? DEFAULTS.temperature,
    top_p: request.top_p ?? DEFAULTS.top_p,
    // −1 is vLLM's word for every token, which is 0 here.
    top_k: Math.max(0, request.top_k ?? DEFAULTS.top_k),
    min_p: request.min_p ?? DEFAULTS.min_p,
    // The library's own default is the time in milliseconds, the same for choices that start together.
    seed: seedOf(request.seed ?? randomInt(SEEDS)),
    penalty: penalized ? { repetition, frequency, presence } : null,
  }
}

/** llama.cpp takes seeds of 32 bits, the last of which means any. */
const SEEDS = 2 ** 32 - 1

function seedOf(seed: number): number {
  return ((seed % SEEDS) + SEEDS) % SEEDS
}

function thoughtTokens(effort: string): number | null {
  const tokens = THOUGHT_TOKENS[effort]
  if (tokens === undefined)
    throw refusal('reasoning_effort', `must be one of ${Object.keys(THOUGHT_TOKENS).join(', ')}`)
  return tokens
}

function functionsOf({ tools = [], tool_choice = 'auto' }: ChatRequest): Functions | null {
  if (tool_choice === 'none') return null
  if (tool_choice === 'required' || (typeof tool_choice === 'object' && tool_choice.type === 'function'))
    throw refusal('tool_choice', 'a local model decides by itself whether to call; send auto or none')
  let offered = tools
  if (typeof tool_choice === 'object') {
    const { mode, tools: allowed } = tool_choice.allowed_tools
    if (mode === 'required')
      throw refusal('tool_choice', 'a local model decides by itself whether to call; use the mode auto')
    const names = new Set(allowed.map((each) => each.function.name))
    offered = tools.filter((tool) => names.has(tool.function.name))
  }
  if (offered.length === 0) return null
  return Object.fromEntries(offered.map((tool, i) => [tool.function.name, functionOf(tool, `tools[${i}]`)]))
}

function functionOf({ function: { description, parameters, strict } }: ChatTool, path: string): Functions[string] {
  const none = parameters === undefined || Object.keys((parameters.properties as object | undefined) ?? {}).length === 0
  return {
    ...(description !== undefined && { description }),
    ...(!none && { params: grammarSchema(parameters, `${path}.function.parameters`, { loose: strict !== true }) }),
  }
}

function grammarOf({ response_format: format }: ChatRequest): ChoiceRequest['grammar'] {
  if (format === undefined || format.type === 'text') return null
  if (format.type === 'json_object' || format.json_schema.schema === undefined) return 'json'
  return grammarSchema(format.json_schema.schema, 'response_format.json_schema.schema', { loose: false })
}
