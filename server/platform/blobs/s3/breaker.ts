import { BlobsAway } from '../blobs.ts'

/** How long a failed probe is believed: calls in this time fail at once. */
const BELIEVED_MS = 1000

/** Lets requests to the bucket through, unless it hangs. */
export type BucketBreaker = {
  /** Sends a request, which is over at the abort of the signal. Throws BlobsAway when the bucket hangs, or what `send` throws. */
  guard<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/**
 * Finds out whether the bucket hangs: takes connections, and answers none. A request that has had no answer for `silence_ms` is a suspicion
 * alone, since a large body takes its time; then `probe` asks something small, and again while requests wait. When the probe has no answer in
 * `probe_ms` either, nor any other request meanwhile, the bucket hangs: all requests that wait for an answer end, and each that follows ends
 * once another probe has failed, at most `probe_ms` later. The first answer ends that. An error is an answer too.
 */
export function openBreaker(
  { silence_ms, probe_ms }: { silence_ms: number; probe_ms: number },
  probe: (signal: AbortSignal) => Promise<unknown>,
): BucketBreaker {
  const waiting = new Set<AbortController>()
  let answers = 0
  let hangs = false
  let probed_at = Number.NEGATIVE_INFINITY
  let probing: Promise<void> | null = null

  const answered = () => {
    answers += 1
    hangs = false
  }

  const runProbe = async (): Promise<void> => {
    const before = answers
    if (await isAnswered(probe, probe_ms)) answered()
    probed_at = performance.now()
    if (answers > before) return
    hangs = true
    for (const each of waiting) each.abort(bucketHangs())
  }

  const look = (): Promise<void> => {
    probing ??= runProbe().finally(() => {
      probing = null
    })
    return probing
  }

  return {
    async guard(send) {
      if (hangs && (probing !== null || performance.now() > probed_at + BELIEVED_MS)) await look()
      if (hangs) throw bucketHangs()
      const over = new AbortController()
      waiting.add(over)
      const timer = setInterval(look, silence_ms)
      try {
        const result = await Promise.race([send(over.signal), rejected(over.signal)])
        answered()
        return result
      } catch (error) {
        if (isSilence(error)) void look()
        throw error
      } finally {
        clearInterval(timer)
        waiting.delete(over)
      }
    },
  }
}

async function isAnswered(probe: (signal: AbortSignal) => Promise<unknown>, probe_ms: number): Promise<boolean> {
  const limit = AbortSignal.timeout(probe_ms)
  try {
    await Promise.race([probe(limit), rejected(limit)])
    return true
  } catch (error) {
    return !limit.aborted && !isSilence(error)
  }
}

/** What the SDK throws when a connection is not made in time, or the answer to a request does not begin. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

function bucketHangs(): BlobsAway {
  return new BlobsAway('the bucket does not answer')
}
