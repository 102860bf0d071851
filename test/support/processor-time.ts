/** Turns longer than this are measured again. */
const ALLOWED_MILLISECONDS = 50
const TRIES = 4
/** What {@link yardstick} takes on the machine that the limit was set on, with nothing else running. */
const YARDSTICK_MILLISECONDS = 90

/**
 * The most processor time, in milliseconds, between two turns of the event loop while `work` runs, whether it succeeds or not. The garbage
 * collector may take part of a turn: of up to four tries the least counts, which is what the work needs. Where a yardstick of fixed work
 * takes longer than it should, since others take the machine's time, a turn counts for as much less.
 */
export async function longestTurn(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least >= ALLOWED_MILLISECONDS; i++) {
    const measured = await measure(work)
    least = Math.min(least, measured < ALLOWED_MILLISECONDS ? measured : measured / slowness())
  }
  return least
}

/**
 * The processor time in seconds that `work` needs in all, whether it succeeds or not. Up to {@link TRIES} while it is `allowed` seconds or
 * more, of which the least counts; a try counts for as much less as the yardstick took longer than it should.
 */
export async function secondsOf(work: () => unknown, allowed: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least >= allowed; i++) {
    const began = processorMilliseconds()
    await tried(work)
    const measured = (processorMilliseconds() - began) / 1000
    least = Math.min(least, measured < allowed ? measured : measured / slowness())
  }
  return least
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

async function measure(work: () => unknown): Promise<number> {
  let longest = 0
  let last = processorMilliseconds()
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
  return longest
}

function processorMilliseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
