import type { Changes } from '../platform/db/changes.ts'

/** Organizations whose balance changed are announced on this topic; what their video jobs change is told by the jobs. */
export const BALANCE_TOPIC = 'balance'

/** Charges of chat come by the thousand a second: an organization is announced this often at most. */
const PAUSE_MILLISECONDS = 500

/** Announces balances that chat changed, many charges at a time. */
export function openBalanceNews(changes: Changes): { changed(org_id: string): void; close(): void } {
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
