/** Turns longer than this are measured again. */
const ALLOWED_MILLISECONDS = 50
const TRIES = 8
/** What {@link yardstick} takes on the machine that the limit was set on, with nothing else running. */
const YARDSTICK_MILLISECONDS = 90

/** Processor time of some work: the most between two turns of the event loop, and all of it. */
export type Effort = { milliseconds: number; seconds: number }

/**
 * The processor time that `work` needs, whether it succeeds or not. The garbage collector may take part of a turn: of up to eight tries while
 * one of both is as much as `allowed` or more, the least of each counts, which is what the work needs. Where a yardstick of fixed work takes
 * longer than it should, since others take the machine's time, a try counts for as much less.
 */
export async function effortOf(work: () => unknown, allowed: Partial<Effort>): Promise<Effort> {
  const { milliseconds = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY } = allowed
  const isLess = (effort: Effort) => effort.milliseconds < milliseconds && effort.seconds < seconds
  let least = { milliseconds: Number.POSITIVE_INFINITY, seconds: Number.POSITIVE_INFINITY }
  for (let i = 0; i < TRIES && (i === 0 || !isLess(least)); i++) {
    const measured = await measure(work)
    const slow = isLess(measured) ? 1 : slowness()
    least = {
      milliseconds: Math.min(least.milliseconds, measured.milliseconds / slow),
      seconds: Math.min(least.seconds, measured.seconds / slow),
    }
  }
  return least
}

/** The most processor time, in milliseconds, between two turns of the event loop while `work` runs, as `effortOf` measures it. */
export async function longestTurn(work: () => unknown): Promise<number> {
  return (await effortOf(work, { milliseconds: ALLOWED_MILLISECONDS })).milliseconds
}

/** How many times longer than it should the machine takes at present, at least 1. */
function slowness(): number {
  return Math.max(1, yardstick() / YARDSTICK_MILLISECONDS)
}

async function tried(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch {
    // What it is about is how long it took.
  }
}

/** The processor time, in milliseconds, of work that is the same everywhere and like that of a request. */
function yardstick(): number {
  const items = Array.from({ length: 20_000 }, (_, i) => ({ id: `item-${i}`, at: i * 7, text: 'word '.repeat(6) }))
  const text = JSON.stringify(items)
  const began = processorMilliseconds()
  for (let i = 0; i < 10; i++) JSON.stringify(JSON.parse(text))
  return processorMilliseconds() - began
}

async function measure(work: () => unknown): Promise<Effort> {
  let longest = 0
  const began = processorMilliseconds()
  let last = began
  const look = () => {
    const now = processorMilliseconds()
    longest = Math.max(longest, now - last)
    last = now
  }
  const turns = {
    next: setImmediate(function again() {
      look()
      turns.next = setImmediate(again)
    }),
  }
  await tried(work)
  look()
  clearImmediate(turns.next)
  return { milliseconds: longest, seconds: (last - began) / 1000 }
}

function processorMilliseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
