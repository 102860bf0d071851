import type { ChatEngine, ChatEvent, ChatRequest, TokenUsage } from './contract.ts'

/**
 * An engine that makes one choice a call, asked for several: one call each, all at once, merged into one answer whose usage is the sum.
 * A `seed` goes up by one from choice to choice, so that they differ. When one call fails, so does the answer; the usage of calls that
 * ended before has been emitted by then.
 */
export function fanOut(engine: ChatEngine): ChatEngine {
  return {
    ...engine,
    // An engine may learn it while it is used.
    get takes_reasoning() {
      return engine.takes_reasoning === true
    },
    async generate(request, signal) {
      if (request.n === 1) return engine.generate(request, signal)
      const stop = new AbortController()
      const over = AbortSignal.any([signal, stop.signal])
      try {
        const calls = Array.from({ length: request.n }, (_, choice) => engine.generate(choiceOf(request, choice), over))
        return interleaved(await Promise.all(calls), stop)
      } catch (error) {
        stop.abort()
        throw error
      }
    },
  }
}

function choiceOf(request: ChatRequest, choice: number): ChatRequest {
  return { ...request, n: 1, ...(request.seed === undefined ? {} : { seed: request.seed + choice }) }
}

type Batch = readonly ChatEvent[]
type Arrival = { choice: number; batch: Batch | null } | { error: unknown }

/** Batches in the order in which they come, each with the number of its choice; `end` comes once, when every call has ended. */
async function* interleaved(
  answers: readonly AsyncIterable<Batch>[],
  stop: AbortController,
): AsyncGenerator<Batch, void> {
  const iterators = answers.map((answer) => answer[Symbol.asyncIterator]())
  let arrivals: Arrival[] = []
  let news = Promise.withResolvers<void>()
  const ask = (choice: number): void => {
    iterators[choice]!.next()
      .then(
        ({ done, value }) => arrivals.push({ choice, batch: done ? null : value }),
        (error: unknown) => arrivals.push({ error }),
      )
      .finally(() => news.resolve())
  }
  const usages: Array<TokenUsage | null> = []
  try {
    for (const choice of iterators.keys()) ask(choice)
    while (usages.length < iterators.length) {
      await news.promise
      news = Promise.withResolvers()
      const arrived = arrivals
      arrivals = []
      const failed = arrived.find((arrival) => 'error' in arrival)
      for (const arrival of arrived) {
        if ('error' in arrival) continue
        const { choice, batch } = arrival
        if (batch === null) return
        const end = batch.find((event) => event.type === 'end')
        if (end) usages.push(end.usage)
        else ask(choice)
        const shown = batch.flatMap((event) => (event.type === 'end' ? usageOf(event, choice) : [{ ...event, choice }]))
        if (shown.length > 0) yield shown
      }
      if (failed) throw failed.error
    }
    yield [{ type: 'end', usage: sumOf(usages) }]
  } finally {
    stop.abort()
    await Promise.all(iterators.map((each) => each.return?.()))
  }
}

function usageOf({ usage }: Extract<ChatEvent, { type: 'end' }>, choice: number): ChatEvent[] {
  return usage === null ? [] : [{ type: 'choice-usage', choice, usage }]
}

/** Null when one call reported no usage: the caller counts then. */
function sumOf(usages: ReadonlyArray<TokenUsage | null>): TokenUsage | null {
  const sum = { input: 0, cached_input: 0, output: 0, reasoning: 0, audio_input: 0, audio_output: 0, unlisted: 0 }
  for (const usage of usages) {
    if (usage === null) return null
    for (const name of Object.keys(sum) as Array<keyof typeof sum>) sum[name] += usage[name] ?? 0
  }
  return sum
}
