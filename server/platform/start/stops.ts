import type { Log } from '../log.ts'

/**
 * Runs `open`, which defers to `stops` how each thing it opens is closed. Disposing of `stops` closes them, the newest first and each of
 * them whatever another one throws, and then throws the error, several as one SuppressedError. When `open` throws, what it has opened is
 * closed, and that error is thrown.
 */
export async function openWithStops<Opened>(
  log: Log,
  open: (stops: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> {
  const stops = new AsyncDisposableStack()
  try {
    return await open(stops)
  } catch (error) {
    await stops.disposeAsync().catch((failed: unknown) => log.warn('stop_failed', { error: failed }))
    throw error
  }
}
