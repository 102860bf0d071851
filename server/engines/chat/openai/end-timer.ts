import type { Missing } from './read/completion.ts'
import type { StreamReader } from './read/stream.ts'

/** Ends an answer of a server that never closes its stream. */
export type EndTimer = {
  /** Call it after each read. `more`: the answer has gone on. True once, when every choice has been given its reason. */
  heard(more: boolean): boolean
  close(): void
}

/** How long a server may be silent after the last reason, with and without usage, or after an error. Long enough for text that comes late. */
export const WAIT_MS = { nothing: 1500, refused: 1500, usage: 5000 }

/** `onSilence` is called when only the end mark, or the usage, has been missing for a while, and nothing that has come is still unread. */
export function endTimer(
  reader: Pick<StreamReader, 'missing'>,
  { onSilence, isPaused }: { onSilence(): void; isPaused(): boolean },
): EndTimer {
  let missing: Missing = 'answer'
  let isAnnounced = false
  let timer: NodeJS.Timeout | null = null
  const wait = (ms: number) => {
    timer = setTimeout(() => (isPaused() ? wait(ms) : onSilence()), ms)
  }
  return {
    heard(more) {
      const now = reader.missing()
      if (now === missing && !more) return false
      missing = now
      if (timer !== null) clearTimeout(timer)
      timer = null
      // Without a reason, only the end of the body or the limit of silence shows that the usage was the last.
      if (now === 'answer' || now === 'reason') return false
      wait(WAIT_MS[now])
      if (isAnnounced || now === 'refused') return false
      isAnnounced = true
      return true
    },
    close() {
      if (timer !== null) clearTimeout(timer)
    },
  }
}
