import type { ChatModelConfig } from '../config/config.ts'
import type { Context } from '../context.ts'
import type { ChatRequest, TokenUsage } from '../engines/chat/contract.ts'
import { entryOptions } from '../engines/engine-entry.ts'
import { type CallRecorder, callRecorder, engineName, errorKind } from '../engines/measured.ts'
import { CALL_BUCKETS, declareMetrics, type Histogram, type Metrics } from '../platform/metrics/metrics.ts'
import type { Span } from '../platform/tracing/tracing.ts'
import { GEN_AI } from './gen-ai.ts'

export const chatMetrics = declareMetrics((metrics) => ({
  first_output: metrics.histogram({
    name: 'kinora_chat_first_output_seconds',
    help: 'Time from the request to a chat engine to its first output.',
    labels: ['model'],
    buckets: CALL_BUCKETS,
  }),
  cells: new WeakMap<ChatModelConfig, ModelCells>(),
}))

type ModelCells = { engine: string; call: CallRecorder; first_output: Histogram }

/** What is recorded of an exchange: never what is in it. */
type RecordedExchange = {
  model: ChatModelConfig
  request: Pick<ChatRequest, 'model' | 'stream' | 'max_tokens' | 'n'>
  request_id: string
}

/** Measures one exchange, and makes its span where there are traces. Each is called once, in this order; `failed` and `first` may be left out. */
export type ExchangeRecorder = {
  /** The first batch of output has arrived. */
  first(): void
  failed(error: unknown): void
  /** The engine will produce nothing more. */
  over(): void
  charged(usage: TokenUsage): void
}

export function recordExchange(
  { metrics, tracing }: Pick<Context, 'metrics' | 'tracing'>,
  exchange: RecordedExchange,
): ExchangeRecorder {
  const { engine, call, first_output } = cellsOf(metrics, exchange.model)
  const span: Span | undefined = tracing?.start(`chat ${exchange.model.id}`, {
    kind: 'client',
    attributes: requestAttributes(exchange, engine),
  })
  const began = performance.now()
  let error: string | undefined
  let first_seconds: number | undefined
  let ended_at: Date | undefined
  return {
    first() {
      if (first_seconds !== undefined) return
      first_seconds = (performance.now() - began) / 1000
      first_output.observe(first_seconds)
      call.worked()
    },
    failed(thrown) {
      error = errorKind(thrown)
      call.failed(thrown)
    },
    over() {
      call.ended((performance.now() - began) / 1000)
      if (error === undefined && first_seconds !== undefined) call.worked()
      if (span) ended_at = new Date()
    },
    charged(usage) {
      if (!span) return
      span.set({ ...usageAttributes(usage), [GEN_AI.first_chunk]: first_seconds })
      span.end({ error, ...(ended_at && { at: ended_at }) })
    },
  }
}

function cellsOf(metrics: Metrics, model: ChatModelConfig): ModelCells {
  const { cells, first_output } = chatMetrics(metrics)
  let found = cells.get(model)
  if (found === undefined) {
    const engine = entryOptions(model.engine).kind
    const call = callRecorder(metrics, {
      family: 'chat',
      engine,
      model: model.id,
      call: 'generate',
      name: engineName({ model: model.id, id: null }),
    })
    found = { engine, call, first_output: first_output.of(model.id) }
    cells.set(model, found)
  }
  return found
}

function requestAttributes({ model, request, request_id }: RecordedExchange, engine: string) {
  return {
    [GEN_AI.operation]: 'chat',
    [GEN_AI.provider]: engine,
    [GEN_AI.request_model]: model.id,
    [GEN_AI.response_model]: request.model,
    [GEN_AI.stream]: request.stream,
    [GEN_AI.max_tokens]: request.max_tokens,
    ...(request.n !== 1 && { [GEN_AI.choices]: request.n }),
    'kinora.request_id': request_id,
  }
}

function usageAttributes({ input, cached_input, output, reasoning }: TokenUsage) {
  return {
    [GEN_AI.input_tokens]: input,
    [GEN_AI.cached_tokens]: cached_input,
    [GEN_AI.output_tokens]: output,
    [GEN_AI.reasoning_tokens]: reasoning,
  }
}
