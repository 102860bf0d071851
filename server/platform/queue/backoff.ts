/** Longest pause between tries against something that does not answer. */
const BACKOFF_SECONDS_MAX = 60
/** Longest pause that an error can ask for. */
const ASKED_SECONDS_MAX = 300

/** Seconds to wait before try number `tries` + 1: doubling, with up to a quarter of jitter, or as long as the error asks for. */
export function backoffSeconds(tries: number, error?: unknown): number {
  const { retry_after_seconds: asked } = (error ?? {}) as { retry_after_seconds?: number }
  if (asked !== undefined) return Math.min(ASKED_SECONDS_MAX, Math.max(1, asked))
  const base = Math.min(BACKOFF_SECONDS_MAX, 2 ** Math.min(tries, 10))
  return base * (0.75 + Math.random() / 4)
}
