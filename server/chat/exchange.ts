import type { Meter } from '../billing/meter.ts'
import { priceTokens } from '../billing/pricing.ts'
import type { Context } from '../context.ts'
import type { ChatEvent, TokenUsage } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { engineName } from '../engines/measured.ts'
import { ApiError, overloaded } from '../platform/errors.ts'
import type { ProducedChoice } from './count.ts'
import { engineFailure } from './engine-failure.ts'
import { type ExchangeRecorder, recordExchange } from './record-exchange.ts'
import { type FieldNames, fieldName } from './request.ts'
import { type ExchangeRequest, requestCompletion } from './request-completion.ts'
import { storableEvents } from './storable-events.ts'
import { countUsage, isUsable, withReasoning } from './usage.ts'

/** An active exchange. `first` is its first batch; `next` resolves with null after the last, which is `end` with the usage that was charged. */
export type Exchange = {
  first: readonly ChatEvent[]
  next(): Promise<readonly ChatEvent[] | null>
  /** Ends the exchange at any point and charges what was produced. No effect after the end; call it in every case. */
  stop(): Promise<void>
}

/**
 * Asks the engine and meters what it produces: admitted while the balance is above zero, charged once, also when the client disconnects.
 * Resolves with the first batch, so that an early refusal is still an HTTP error. The last batch is returned only after the charge is
 * committed. Throws ApiError, here and from `next`.
 */
export async function startExchange(
  ctx: ExchangeContext,
  meter: Meter,
  request: ExchangeRequest,
  left: AbortSignal,
): Promise<Exchange> {
  requireEngine(ctx, request)
  const admitted = meter.admit(request.principal.org_id)
  if (admitted) await admitted
  meter.expect()
  const run = openRun(ctx, meter, request, left)
  let latest: Promise<readonly ChatEvent[] | null> = begin(run)
  return {
    first: (await latest) ?? [],
    next() {
      latest = advance(run)
      return latest
    },
    async stop() {
      await latest.catch(() => {})
      if (!run.over) await settle(run)
    },
  }
}

/** Throws ApiError, which background responses wait for to pass. */
function requireEngine({ switches }: Pick<Context, 'switches'>, { model }: ExchangeRequest): void {
  if (!switches.isPaused(engineName({ model: model.id, id: null }))) return
  const text = 'The operator has paused this model for a while. Try again later, or use another model.'
  throw overloaded('paused', text, { retry_after_seconds: PAUSED_SECONDS })
}

const PAUSED_SECONDS = 30

type ExchangeContext = Pick<Context, 'clock' | 'log' | 'metrics' | 'tracing' | 'switches'>

/** What the engine has produced so far, to count it when the engine does not. `asked`: the engine has been sent the request. */
type Produced = {
  choices: ProducedChoice[]
  asked: boolean
  /** Choices that have finished, or been given a reason. */
  finished: Set<number>
  ended: boolean
  usage: TokenUsage | null
  /** Usage by choice, as far as the engine has reported it. */
  usages: Map<number, TokenUsage>
}

/** How long to wait for the usage when the client disconnects after the last choice has finished. Source: contract 13. */
const USAGE_MILLISECONDS = 5000

/** An exchange from the first question to the charge. `over`: it was charged, or failed to be. */
type Run = {
  ctx: ExchangeContext
  meter: Meter
  exchange: ExchangeRequest
  recorder: ExchangeRecorder
  left: AbortSignal
  call: Call
  produced: Produced
  batches: AsyncIterator<readonly ChatEvent[]> | null
  storable: ReturnType<typeof storableEvents>
  over: boolean
}

function openRun(ctx: Run['ctx'], meter: Meter, request: ExchangeRequest, left: AbortSignal): Run {
  const exchange = { ...request }
  const produced: Produced = {
    choices: [],
    asked: false,
    finished: new Set(),
    ended: false,
    usage: null,
    usages: new Map(),
  }
  const call = openCall(left, () => produced.finished.size >= exchange.request.n)
  const recorder = recordExchange(ctx, exchange)
  const storable = storableEvents()
  return { ctx, meter, exchange, recorder, left, call, produced, batches: null, storable, over: false }
}

async function begin(run: Run): Promise<readonly ChatEvent[] | null> {
  try {
    run.left.throwIfAborted()
    run.produced.asked = true
    run.batches = (await requestCompletion(run.exchange, run.call.signal))[Symbol.asyncIterator]()
  } catch (error) {
    return endBy(run, error)
  }
  return advance(run)
}

/** The next batch; after the last one of the engine the charge, then null. An async generator would do the same in more steps. */
async function advance(run: Run): Promise<readonly ChatEvent[] | null> {
  if (run.over) return null
  const { batches, produced } = run
  try {
    while (!produced.ended) {
      const { done, value } = await batches!.next()
      if (done) throw new EngineError('failed', 'the answer broke off')
      const shown = recordProduced(produced, run.storable(value))
      if (shown.length === 0) continue
      run.recorder.first()
      const room = run.exchange.kept?.add(bytesOf(shown))
      if (room) await room
      return shown
    }
  } catch (error) {
    run.call.failed = true
    return endBy(run, error)
  }
  return [{ type: 'end', usage: await settle(run) }]
}

/** What was produced is charged. A client that has left gets no error. */
async function endBy(run: Run, error: unknown): Promise<readonly ChatEvent[]> {
  const failure = run.left.aborted ? null : named(engineFailure(run.ctx.log, run.exchange, error), run.exchange.names)
  if (failure) run.recorder.failed(error)
  const usage = await settle(run)
  if (failure) throw failure
  return [{ type: 'end', usage }]
}

/** Ends the call of the engine and charges what it produced. */
async function settle(run: Run): Promise<TokenUsage> {
  const { batches, call, produced, exchange } = run
  run.over = true
  if (batches && !call.failed && !produced.ended && produced.finished.size >= exchange.request.n)
    await awaitUsage(batches, produced, call)
  if (batches?.return) await batches.return()
  call.close()
  run.recorder.over()
  const usage = await charge(run)
  run.recorder.charged(usage)
  return usage
}

/** An error of the engine by the route's name for the field. */
function named(failure: unknown, names: FieldNames): unknown {
  if (!(failure instanceof ApiError) || failure.param === null) return failure
  const { code, message, param, retry_after_seconds } = failure
  const name = fieldName(param, names)
  if (name === param) return failure
  // Engines write `field: reason`.
  const own = message.startsWith(`${param}: `) ? name + message.slice(param.length) : message
  const text = own.replaceAll(`the ${param}`, `the ${name}`).replaceAll(`'${param}'`, `'${name}'`)
  return new ApiError(code, text, { param: name, retry_after_seconds, cause: failure })
}

/** A call of the engine. `signal` ends it; `failed`: it will produce nothing more. */
type Call = { signal: AbortSignal; failed: boolean; endSoon(): void; close(): void }

/** A disconnect of the client ends the call at once, or after a while when only the usage is still missing. */
function openCall(left: AbortSignal, isFinished: () => boolean): Call {
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const endSoon = () => {
    timer ??= setTimeout(() => over.abort(new Error('the usage of the answer did not arrive')), USAGE_MILLISECONDS)
  }
  const disconnect = () => (isFinished() ? endSoon() : over.abort(left.reason))
  if (!left.aborted) left.addEventListener('abort', disconnect, { once: true })
  return {
    signal: over.signal,
    failed: false,
    endSoon,
    close() {
      clearTimeout(timer)
      left.removeEventListener('abort', disconnect)
    },
  }
}

/** A client that has received the answer pays for all of it, including hidden reasoning, even if it disconnects before the usage. */
async function awaitUsage(batches: AsyncIterator<readonly ChatEvent[]>, produced: Produced, call: Call): Promise<void> {
  call.endSoon()
  try {
    while (!produced.ended) {
      const { done, value } = await batches.next()
      if (done) return
      recordProduced(produced, value)
    }
  } catch {
    // The usage is counted instead.
  }
}

/** Records a batch. Returns it without `end`, which is sent after the charge, and without what no client sees. */
function recordProduced(produced: Produced, batch: readonly ChatEvent[]): readonly ChatEvent[] {
  for (const event of batch) {
    if (event.type === 'end') {
      produced.usage = event.usage
      produced.ended = true
    } else if (event.type === 'choice-usage') {
      produced.usages.set(event.choice, event.usage)
    } else if (event.type === 'finishing') {
      produced.finished.add(event.choice)
    } else {
      if (event.type === 'finish') produced.finished.add(event.choice)
      produced.choices[event.choice] ??= { text: [], reasoning: [] }
      record(produced.choices[event.choice]!, event)
    }
  }
  const mayFilter = produced.ended || produced.usages.size > 0 || produced.finished.size > 0
  return mayFilter ? batch.filter(({ type }) => !UNSEEN.has(type)) : batch
}

/** About what a batch is as JSON. */
function bytesOf(batch: readonly ChatEvent[]): number {
  let bytes = 0
  for (const event of batch) {
    if (event.type === 'tool-call-delta') bytes += event.arguments.length
    else if ('text' in event) bytes += event.text.length
    if (event.type !== 'text-delta' || !event.logprobs) continue
    for (const { top_logprobs } of event.logprobs) bytes += LOGPROB_BYTES * (1 + top_logprobs.length)
  }
  return bytes
}

/** Of a token with its probability and its bytes: 64 bytes of JSON, but 163 of the heap, measured with tokens of six letters. */
const LOGPROB_BYTES = 160

const UNSEEN: ReadonlySet<ChatEvent['type']> = new Set(['finishing', 'choice-usage', 'end'])

function record(
  choice: ProducedChoice,
  event: Exclude<ChatEvent, { type: 'end' | 'choice-usage' | 'finishing' }>,
): void {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
      choice.text.push(event.text)
      break
    case 'reasoning-delta':
      choice.reasoning.push(event.text)
      break
    case 'tool-call-delta':
      choice.text.push((event.name ?? '') + event.arguments)
  }
}

async function charge({ ctx, meter, exchange, produced, left }: Run): Promise<TokenUsage> {
  const { principal, model, request_id } = exchange
  const { org_id, user_id, key_id } = principal
  const reported = produced.usage
  if (reported && !isUsable(reported)) ctx.log.warn('chat_usage_unusable', { request_id, engine: model.id })
  const usage =
    reported && isUsable(reported)
      ? withReasoning(reported, exchange.model, produced)
      : await countUsage(exchange, produced, left.aborted)
  await meter.charge({
    request_id,
    org_id,
    user_id,
    key_id,
    model: model.id,
    input_tokens: usage.input,
    cached_input_tokens: usage.cached_input,
    output_tokens: usage.output,
    reasoning_tokens: usage.reasoning,
    amount: priceTokens(model.prices, usage),
    now: ctx.clock.now(),
  })
  return usage
}
