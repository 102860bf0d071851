import { type Failure, failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'

/** Requests of one deletion that are under way at a time. */
const AT_ONCE = 4
/** How often one may be sent that the rate limit of the plan refuses: others of them, and other tabs, take turns with it. */
const ATTEMPTS_MAX = 20

export type SentDeletions = {
  /** Why some were not deleted; what is already gone counts as deleted. */
  failures: Promise<Failure[]>
  /** The page is left: sends everything that remains at once, and waits for nothing. */
  rush(): void
}

/** Deletes a few at a time, at the pace of the plan's rate limit. `onWait` is called when it refuses one, with how many remain. */
export function sendDeletions(paths: readonly string[], onWait: (remaining: number) => void): SentDeletions {
  const waiting = [...paths]
  const failures: Failure[] = []
  const rushed = new AbortController()
  let remaining = paths.length
  const sendOne = async (path: string) => {
    for (let attempt = 1; ; attempt++) {
      try {
        // Goes on although the page is left.
        return await request('DELETE', path, { keepalive: true })
      } catch (error) {
        const failure = failureOf(error)
        const { status, retry_after_seconds: wait } = failure
        if (status === 404) return
        if (status !== 429 || wait === null || attempt === ATTEMPTS_MAX || rushed.signal.aborted)
          return void failures.push(failure)
        onWait(remaining)
        await pause(wait, rushed.signal)
      }
    }
  }
  const work = async () => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      await sendOne(path)
      remaining -= 1
    }
  }
  const workers = paths.slice(0, AT_ONCE).map(work)
  const finish = async () => {
    for (const worker of workers) await worker
    return failures
  }
  return {
    failures: finish(),
    rush() {
      rushed.abort()
      workers.push(...Array.from({ length: waiting.length }, work))
    },
  }
}

/** Ends early when `signal` is aborted. */
function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
