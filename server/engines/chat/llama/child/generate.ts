import { randomUUID } from 'node:crypto'
import { leastTokens } from '../../../../platform/tokenizer.ts'
import { EngineError } from '../../../engine-error.ts'
import type { ChatEvent, FinishReason } from '../../contract.ts'
import type { ChoiceRequest, HistoryItem } from '../protocol.ts'
import { refusal } from '../refuse.ts'
import type { Sequence } from './library.ts'
import type { Loaded } from './load.ts'

export type ChoiceRun = { signal: AbortSignal; accept(): void; emit(events: ChatEvent[]): void }

/** Tokens that the library keeps free of a context. */
const RESERVED_TOKENS = 2

/**
 * Makes one answer on a sequence of its own, which holds nothing of another request before and nothing of this one after.
 * Throws EngineError, or the signal's reason.
 */
export async function generateChoice(loaded: Loaded, turn: ChoiceRequest, run: ChoiceRun): Promise<void> {
  const input = promptTokens(loaded, turn)
  const room = loaded.context_tokens - RESERVED_TOKENS - input
  if (room < 1) throw tooLong(loaded, input)
  const grammar = await grammarOf(loaded, turn)
  const sequence = loaded.sequences.pop()
  if (sequence === undefined) throw new Error('more requests than sequences')
  try {
    run.signal.throwIfAborted()
    run.accept()
    await answer(loaded, turn, {
      ...run,
      sequence,
      grammar,
      input,
      output_max: Math.min(room, turn.max_tokens ?? room),
    })
  } finally {
    // What cannot be cleared may not be used again, nor may anything else of this process.
    await sequence.clearHistory().catch(() => process.exit(1))
    loaded.sequences.push(sequence)
  }
}

/**
 * Tokens of the prompt in the model's own template. Throws EngineError `rejected` when the template does not take the conversation, and
 * `context_length` for one of more than twice the context without tokenizing it, which nothing here may interrupt.
 */
export function promptTokens(loaded: Loaded, { history, functions }: ChoiceRequest): number {
  const { model, wrapper } = loaded
  const least = leastTokens(history.reduce((sum, item) => sum + lengthOf(item), 0))
  if (least > 2 * loaded.context_tokens) throw tooLong(loaded, least)
  const answer: HistoryItem[] = history.at(-1)?.type === 'model' ? [] : [{ type: 'model', response: [] }]
  try {
    const { contextText } = wrapper.generateContextState({
      chatHistory: [...history, ...answer],
      ...(functions !== null && { availableFunctions: functions }),
    })
    return contextText.tokenize(model.tokenizer).length
  } catch {
    throw refusal('messages', "the model's chat template does not take such a conversation")
  }
}

/** Characters of its texts. */
function lengthOf(item: HistoryItem): number {
  if (item.type !== 'model') return item.text.length
  return item.response.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0)
}

function tooLong({ context_tokens: limit }: Loaded, asked: number): EngineError {
  return new EngineError('context_length', 'The prompt is longer than the context.', { tokens: { limit, asked } })
}

async function grammarOf({ llama }: Loaded, { grammar }: ChoiceRequest): Promise<unknown> {
  if (grammar === null) return undefined
  if (grammar === 'json') return llama.getGrammarFor('json')
  try {
    return await llama.createGrammarForJsonSchema(grammar)
  } catch {
    throw refusal('response_format.json_schema.schema', 'llama.cpp makes no grammar of it')
  }
}

type Answer = ChoiceRun & { sequence: Sequence; grammar: unknown; input: number; output_max: number }

async function answer(
  loaded: Loaded,
  turn: ChoiceRequest,
  { sequence, grammar, input, output_max, ...run }: Answer,
): Promise<void> {
  const before = sequence.tokenMeter.usedOutputTokens
  const written = () => sequence.tokenMeter.usedOutputTokens - before
  // The library counts no tokens of calls against `maxTokens`, and would drop messages to make room.
  const full = new AbortController()
  const stopWhenFull = () => {
    if (written() >= output_max) full.abort()
  }
  const calls = callWriter(run.emit)
  let reasoning = 0
  let call_written = false
  const { LlamaChat, TokenBias } = loaded.library
  const bias = turn.bias.length === 0 ? undefined : new TokenBias(loaded.model.tokenizer)
  for (const [token, value] of turn.bias) bias?.set(token, value <= -100 ? 'never' : { logit: value })
  let reason: FinishReason
  try {
    const chat = new LlamaChat({ contextSequence: sequence, chatWrapper: loaded.wrapper })
    const { functionCalls = [], metadata } = await chat.generateResponse(turn.history, {
      ...samplingOf(turn, loaded.context_tokens),
      signal: AbortSignal.any([run.signal, full.signal]),
      maxTokens: output_max,
      ...(bias && { tokenBias: bias }),
      ...(turn.stop.length > 0 && { customStopTriggers: turn.stop }),
      ...(turn.thought_tokens !== null && { budgets: { thoughtTokens: turn.thought_tokens } }),
      ...(grammar !== undefined && { grammar }),
      ...(turn.functions !== null && {
        functions: turn.functions,
        ...(turn.calls_max !== null && { maxParallelFunctionCalls: turn.calls_max }),
        onFunctionCallParamsChunk: (chunk) => {
          calls.add(chunk.callIndex, chunk.functionName, chunk.paramsChunk)
          call_written = chunk.done
          stopWhenFull()
        },
      }),
      contextShift: {
        size: 1,
        strategy: ({ chatHistory }) => {
          full.abort()
          return { chatHistory }
        },
      },
      onResponseChunk: ({ type, text, tokens }) => {
        if (type === 'segment') reasoning += tokens.length
        if (text !== '') run.emit([{ type: type === 'segment' ? 'reasoning-delta' : 'text-delta', choice: 0, text }])
      },
    })
    for (const [i, { functionName, params }] of functionCalls.entries()) calls.complete(i, functionName, params)
    reason = FINISH[metadata.stopReason] ?? 'stop'
  } catch (error) {
    if (run.signal.aborted) throw error
    // The library rejects some arguments that its own grammar let through, such as 5e-3 for an integer: they are the client's to check.
    if (!full.signal.aborted && !call_written) throw error
    reason = full.signal.aborted ? 'length' : 'tool_calls'
  }
  const output = written()
  const usage = { input, cached_input: 0, output, reasoning: Math.min(reasoning, output) }
  run.emit([
    { type: 'finish', choice: 0, reason },
    { type: 'end', usage },
  ])
}

const FINISH: Readonly<Record<string, FinishReason>> = { maxTokens: 'length', functionCalls: 'tool_calls' }

function samplingOf({ sampling }: ChoiceRequest, context_tokens: number) {
  const { penalty } = sampling
  return {
    temperature: sampling.temperature,
    seed: sampling.seed,
    topP: sampling.top_p,
    topK: sampling.top_k,
    minP: sampling.min_p,
    repeatPenalty:
      penalty === null
        ? (false as const)
        : {
            lastTokens: context_tokens,
            penalty: penalty.repetition,
            frequencyPenalty: penalty.frequency,
            presencePenalty: penalty.presence,
            penalizeNewLine: true as const,
          },
  }
}

/**
 * Events of tool calls. A call whose parameters were not streamed is completed from the result. Space waits for what follows it: a grammar
 * ends in lines that are no part of the arguments.
 */
function callWriter(emit: (events: ChatEvent[]) => void) {
  const seen = new Map<number, { space: string; empty: boolean }>()
  const add = (call: number, name: string, text: string) => {
    const before = seen.get(call)
    const all = (before?.space ?? '') + text
    const written = all.trimEnd()
    seen.set(call, { space: all.slice(written.length), empty: (before?.empty ?? true) && written === '' })
    const first = before === undefined ? { id: `call_${randomUUID().replaceAll('-', '')}`, name } : {}
    if (before === undefined || written !== '')
      emit([{ type: 'tool-call-delta', choice: 0, call, ...first, arguments: written }])
  }
  return {
    add,
    complete(call: number, name: string, params: unknown) {
      if (seen.get(call)?.empty !== false) add(call, name, JSON.stringify(params ?? {}))
    },
  }
}
