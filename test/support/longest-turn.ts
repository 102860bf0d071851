/** Turns longer than this are measured again. */
const ALLOWED_MILLISECONDS = 50
const TRIES = 4

/**
 * The most processor time, in milliseconds, between two turns of the event loop while `work` runs, whether it succeeds or not. The garbage
 * collector may take part of a turn: of up to four tries the least counts, which is what the work needs.
 */
export async function longestTurn(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least >= ALLOWED_MILLISECONDS; i++) least = Math.min(least, await measure(work))
  return least
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
  try {
    await work()
  } catch {
    // What it is about is how long it took.
  }
  look()
  clearImmediate(turns.next)
  return longest
}

function processorMilliseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
