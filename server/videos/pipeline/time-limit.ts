/**
 * Runs `use` with a signal that aborts when `signal` does, and after `seconds`. Unlike `AbortSignal.timeout`, it leaves no timer behind:
 * every job makes several, of which some would live for minutes.
 */
export async function withTimeLimit<Result>(
  { signal, seconds }: { signal: AbortSignal; seconds: number },
  use: (limit: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = new AbortController()
  const abort = () => limit.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(
    () => limit.abort(new DOMException('The time limit is over.', 'TimeoutError')),
    seconds * 1000,
  )
  try {
    return await use(limit.signal)
  } finally {
    clearTimeout(timer)
    // Ends what `use` left unread.
    limit.abort(ENDED)
    signal.removeEventListener('abort', abort)
  }
}

/** One for all: an error made for each call would cost more than the call. */
const ENDED = new Error('The call has ended.')
