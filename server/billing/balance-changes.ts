import type { Changes } from '../platform/db/changes.ts'

/** Announces organizations whose balance changed, other than by video jobs: those announce themselves. */
export const BALANCE_TOPIC = 'balance'

/** Chat charges arrive by the thousand a second: an organization is announced at most this often. */
const PAUSE_MILLISECONDS = 500

/** Batches the announcements of chat charges. `close` sends what is waiting. */
export function openBalanceChanges(changes: Changes): { changed(org_id: string): void; close(): void } {
  const waiting = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  const announce = () => {
    timer = null
    for (const org_id of waiting) changes.announce(BALANCE_TOPIC, org_id)
    waiting.clear()
  }
  return {
    changed(org_id) {
      waiting.add(org_id)
      timer ??= setTimeout(announce, PAUSE_MILLISECONDS).unref()
    },
    close() {
      if (timer) clearTimeout(timer)
      announce()
    },
  }
}
