import { useEffect, useSyncExternalStore } from 'react'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { type Attachment, isReady, SLOTS, type Slot } from './attachments.ts'
import { afterSubmission, type Draft, emptyDraft, readDraft, writeDraft } from './draft.ts'

/**
 * The draft of this tab. It outlives the page that shows it, so that uploads continue, and is stored for each person and
 * organization: in the tab for reloads, in the browser for the next tab.
 */
let owner: string | null = null
let draft: Draft = emptyDraft()
/** The draft that another one replaced; null when there is none to restore. */
let earlier: Draft | null = null
let opensAt: Opening | null = null
let storing: ReturnType<typeof setTimeout> | null = null
const listeners = new Set<() => void>()

/** Where the form is opened: at the end of the prompt, there with the first frame in sight, or with its list of models. */
export type Opening = 'prompt' | 'frame' | 'models'

/** How long a write waits for the next keystroke. */
const STORE_MS = 300

export function useDraft(): Draft {
  const { user, organization } = useSession()
  const mine = `${user.id}.${organization.id}`
  if (owner !== mine) openDraft(mine)
  useEffect(() => {
    addEventListener('pagehide', storeDraft)
    return () => removeEventListener('pagehide', storeDraft)
  }, [])
  return useSyncExternalStore(listen, () => draft)
}

export function readCurrentDraft(): Draft {
  return draft
}

export function changeDraft(change: Partial<Draft> | ((draft: Draft) => Partial<Draft>)): void {
  draft = { ...draft, is_sent: false, ...(typeof change === 'function' ? change(draft) : change) }
  storing ??= setTimeout(storeDraft, STORE_MS)
  for (const listener of listeners) listener()
}

/** Begins the next request after this draft was sent. Unless it has changed since, nothing of it is lost when it is replaced. */
export function endDraft(sent: Draft): void {
  changeDraft((current) => ({ ...afterSubmission(current), is_sent: current.is_sent || current === sent }))
}

/** Replaces the draft, which can be restored unless it was sent, and checks that the files of the new one still exist. `opens_at`: for a form that is opened then. */
export function replaceDraft(next: Draft, opens_at: Opening | null = null): void {
  opensAt = opens_at
  earlier = draft.is_sent || draft.prompt.trim() === '' || draft.prompt === next.prompt ? null : draft
  changeDraft(next)
  void checkFiles()
}

/** Whether the form opens there, which it does once. */
export function takeOpening(at: Opening): boolean {
  if (opensAt !== at) return false
  opensAt = null
  return true
}

/** The draft that another one replaced. */
export function useEarlierDraft(): Draft | null {
  return useSyncExternalStore(listen, () => earlier)
}

/** Restores the earlier draft or drops it. */
export function closeEarlierDraft(restore: boolean): void {
  const back = earlier
  earlier = null
  changeDraft(restore && back ? back : { is_sent: draft.is_sent })
}

/** Changes the files of one slot. */
export function changeFiles(slot: Slot, change: (files: Attachment[]) => Attachment[]): void {
  changeDraft(({ files }) => ({ files: { ...files, [slot]: change(files[slot]) } }))
}

/** Changes one file in whichever slot it is. */
export function changeFile(key: string, change: Partial<Attachment>): void {
  changeDraft(({ files }) => ({
    files: Object.fromEntries(
      SLOTS.map((slot) => [slot, files[slot].map((file) => (file.key === key ? { ...file, ...change } : file))]),
    ) as Draft['files'],
  }))
}

function openDraft(mine: string): void {
  if (owner !== null && storing) storeDraft()
  owner = mine
  earlier = null
  draft = readDraft(read(sessionStorageOrNull(), mine)) ?? readDraft(read(localStorageOrNull(), mine)) ?? emptyDraft()
  void checkFiles()
}

function storeDraft(): void {
  if (storing) clearTimeout(storing)
  storing = null
  if (owner === null) return
  const text = writeDraft(draft)
  for (const storage of [sessionStorageOrNull(), localStorageOrNull()]) {
    try {
      storage?.setItem(keyOf(owner), text)
    } catch {
      // Storage is full or unavailable: the draft lasts as long as the tab.
    }
  }
}

/** Marks files that were deleted or have expired, before the person submits. */
async function checkFiles(): Promise<void> {
  const stored = SLOTS.flatMap((slot) => draft.files[slot]).filter(isReady)
  await Promise.all(
    stored.map(async ({ key, file_id }) => {
      try {
        await request('GET', `/v1/files/${encodeURIComponent(file_id!)}`)
      } catch (error) {
        if (failureOf(error).status === 404) changeFile(key, { problem: { code: 'gone' } })
      }
    }),
  )
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function keyOf(mine: string): string {
  return `kinora.video-draft.${mine}`
}

function read(storage: Storage | null, mine: string): string | null {
  return storage?.getItem(keyOf(mine)) ?? null
}

function sessionStorageOrNull(): Storage | null {
  try {
    return sessionStorage
  } catch {
    return null
  }
}

function localStorageOrNull(): Storage | null {
  try {
    return localStorage
  } catch {
    return null
  }
}
