import type { Meter } from '../billing/meter.ts'
import { priceTokens } from '../billing/pricing.ts'
import type { ChatModelConfig } from '../config/config.ts'
import type { Context } from '../context.ts'
import type { ChatEngine, ChatEvent, ChatRequest, TokenUsage } from '../engines/chat/contract.ts'
import { type ContextOverflow, EngineError } from '../engines/engine-error.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { countProduced, countRequest, type ProducedChoice } from './count.ts'
import { engineFailure } from './engine-failure.ts'

/** The request of one turn, and for whom it is made. */
export type TurnRequest = {
  principal: Principal
  request_id: string
  model: ChatModelConfig
  engine: ChatEngine
  request: ChatRequest
  /**
   * Shortens the request when the engine refuses it as too long and states its limit; it is asked once more then. Throws ApiError when
   * nothing more may be dropped.
   */
  shorten?(tokens: ContextOverflow): Promise<ChatRequest>
}

/** An active turn. `first` is its first batch; `next` resolves with null after the last, which is `end` with the usage that was charged. */
export type Turn = {
  first: readonly ChatEvent[]
  next(): Promise<readonly ChatEvent[] | null>
  /** Ends the turn at any point and charges what was produced. No effect after the end; call it in every case. */
  stop(): Promise<void>
}

/**
 * Asks the engine and meters what it produces: admitted while the balance is above zero, charged once, also when the client disconnects.
 * Resolves with the first batch, so that an early refusal is still an HTTP error. The last batch is returned only after the charge is
 * committed. Throws ApiError, here and from `next`.
 */
export async function startTurn(
  ctx: Pick<Context, 'clock' | 'log'>,
  meter: Meter,
  request: TurnRequest,
  left: AbortSignal,
): Promise<Turn> {
  const admitted = meter.admit(request.principal.org_id)
  if (admitted) await admitted
  meter.expect()
  const events = produce(ctx, meter, request, left)
  const first = await events.next()
  return {
    first: first.value ?? [],
    async next() {
      const { value } = await events.next()
      return value ?? null
    },
    async stop() {
      await events.return()
    },
  }
}

/** What the engine has produced so far, to count it when the engine does not. `asked`: the engine has been sent the request. */
type Produced = {
  choices: ProducedChoice[]
  asked: boolean
  /** Choices that have finished. */
  finished: number
  ended: boolean
  usage: TokenUsage | null
  /** Usage by choice, as far as the engine has reported it. */
  usages: Map<number, TokenUsage>
}

/** How long to wait for the usage when the client disconnects after the last choice has finished. Source: contract 13. */
const USAGE_MILLISECONDS = 5000

async function* produce(
  ctx: Pick<Context, 'clock' | 'log'>,
  meter: Meter,
  given: TurnRequest,
  left: AbortSignal,
): AsyncGenerator<readonly ChatEvent[], void, void> {
  const turn = { ...given }
  const produced: Produced = { choices: [], asked: false, finished: 0, ended: false, usage: null, usages: new Map() }
  const isFinished = () => produced.finished >= turn.request.n
  const call = openCall(left, isFinished)
  let batches: AsyncIterator<readonly ChatEvent[]> | null = null
  let usage: TokenUsage
  try {
    left.throwIfAborted()
    produced.asked = true
    batches = (await ask(turn, call.signal))[Symbol.asyncIterator]()
    while (!produced.ended) {
      const { done, value } = await nextOf(batches, call)
      if (done) throw new EngineError('failed', 'the answer broke off')
      const shown = observe(produced, value)
      if (shown.length > 0) yield shown
    }
  } catch (error) {
    if (!left.aborted) throw engineFailure(ctx.log, turn, error)
  } finally {
    if (batches && !call.failed && isFinished()) await awaitUsage(batches, produced, call)
    await batches?.return?.()
    call.close()
    usage = await charge(ctx, meter, turn, { produced, left })
  }
  yield [{ type: 'end', usage }]
}

/** `turn.request` is what the engine has accepted. */
async function ask(turn: TurnRequest, signal: AbortSignal): Promise<AsyncIterable<readonly ChatEvent[]>> {
  try {
    return await turn.engine.generate(turn.request, signal)
  } catch (error) {
    if (!(error instanceof EngineError) || error.tokens === undefined || !turn.shorten) throw error
    turn.request = { ...(await turn.shorten(error.tokens)), stream: turn.request.stream }
    return await turn.engine.generate(turn.request, signal)
  }
}

/** A call of the engine. `signal` ends it; `failed`: it has thrown and will produce nothing more. */
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

async function nextOf(
  batches: AsyncIterator<readonly ChatEvent[]>,
  call: Call,
): Promise<IteratorResult<readonly ChatEvent[]>> {
  try {
    return await batches.next()
  } catch (error) {
    call.failed = true
    throw error
  }
}

/** A client that has received the answer pays for all of it, including hidden reasoning, even if it disconnects before the usage. */
async function awaitUsage(batches: AsyncIterator<readonly ChatEvent[]>, produced: Produced, call: Call): Promise<void> {
  call.endSoon()
  try {
    while (!produced.ended) {
      const { done, value } = await batches.next()
      if (done) return
      observe(produced, value)
    }
  } catch {
    // The usage is counted instead.
  }
}

/** Records a batch. Returns it without `end`, which is sent after the charge, and without the usage of single choices. */
function observe(produced: Produced, batch: readonly ChatEvent[]): readonly ChatEvent[] {
  for (const event of batch) {
    if (event.type === 'end') {
      produced.usage = event.usage
      produced.ended = true
    } else if (event.type === 'choice-usage') {
      produced.usages.set(event.choice, event.usage)
    } else {
      if (event.type === 'finish') produced.finished += 1
      produced.choices[event.choice] ??= { text: [], reasoning: [] }
      record(produced.choices[event.choice]!, event)
    }
  }
  const mayFilter = produced.ended || produced.usages.size > 0
  return mayFilter ? batch.filter(({ type }) => type !== 'end' && type !== 'choice-usage') : batch
}

function record(choice: ProducedChoice, event: Exclude<ChatEvent, { type: 'end' | 'choice-usage' }>): void {
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

async function charge(
  ctx: Pick<Context, 'clock' | 'log'>,
  meter: Meter,
  turn: TurnRequest,
  { produced, left }: { produced: Produced; left: AbortSignal },
): Promise<TokenUsage> {
  const { principal, model, request_id } = turn
  const { org_id, user_id, key_id } = principal
  const reported = produced.usage
  if (reported && !isUsable(reported)) ctx.log.warn('chat_usage_unusable', { request_id, engine: model.id })
  const usage = reported && isUsable(reported) ? reported : await countUsage(turn, produced, left)
  await meter.charge({
    ...{ request_id, org_id, user_id, key_id, model: model.id },
    input_tokens: usage.input,
    cached_input_tokens: usage.cached_input,
    output_tokens: usage.output,
    reasoning_tokens: usage.reasoning,
    amount: priceTokens(model.prices, usage),
    now: ctx.clock.now(),
  })
  return usage
}

/** A higher count is an error of the engine: no model has such a context. */
const TOKENS_MAX = 2 ** 31 - 1

function isUsable({ input, cached_input, output, reasoning }: TokenUsage): boolean {
  const isCount = (value: number, max: number) => Number.isSafeInteger(value) && value >= 0 && value <= max
  return (
    isCount(input, TOKENS_MAX) &&
    isCount(output, TOKENS_MAX) &&
    isCount(cached_input, input) &&
    isCount(reasoning, output)
  )
}

/**
 * Counts the usage for engines that report none, and for answers that broke off. Usable usage of single choices is used as it is. A request
 * that failed before anything was produced has no usage; one that the client abandoned while the engine worked on it has used its input.
 */
async function countUsage({ request }: TurnRequest, produced: Produced, left: AbortSignal): Promise<TokenUsage> {
  const { ended, asked } = produced
  const usages = new Map([...produced.usages].filter(([, usage]) => isUsable(usage)))
  const known = [...usages.values()].reduce(addUsage, { input: 0, cached_input: 0, output: 0, reasoning: 0 })
  const choices = produced.choices.filter((_, choice) => !usages.has(choice))
  const isUsed = choices.length > 0 || (usages.size < request.n && (ended || (asked && left.aborted)))
  if (!isUsed) return known
  const counted = { input: await countRequest(request), cached_input: 0, ...(await countProduced(choices)) }
  return addUsage(known, counted)
}

function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: a.input + b.input,
    cached_input: a.cached_input + b.cached_input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}
