/** Exit code of a command that Ctrl-C ended, as shells number it. */
export const EXIT_INTERRUPTED = 130

/** Aborts `signal` at the first Ctrl-C or SIGTERM; the second ends the program as usual. `release` stops listening. */
export function onInterrupt(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const abort = () => controller.abort()
  process.once('SIGINT', abort).once('SIGTERM', abort)
  return { signal: controller.signal, release: () => void process.off('SIGINT', abort).off('SIGTERM', abort) }
}

/**
 * Of a service: Ctrl-C and SIGTERM abort `first`, then `second`; the third ends the program as usual. The end of the launcher that started it
 * counts as one: see `bin/kinora.js`.
 */
export function onSignals(): { first: AbortSignal; second: AbortSignal } {
  const [first, second] = [new AbortController(), new AbortController()]
  const abort = () => {
    if (!first.signal.aborted) return first.abort()
    process.off('SIGINT', abort).off('SIGTERM', abort)
    second.abort()
  }
  process.on('SIGINT', abort).on('SIGTERM', abort).once('disconnect', abort)
  process.channel?.unref()
  return { first: first.signal, second: second.signal }
}
