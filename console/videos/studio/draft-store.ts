import { useEffect, useSyncExternalStore } from 'react'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { type Attachment, isReady, SLOTS, type Slot } from '../inputs/attachments.ts'
import { type Draft, emptyDraft, readDraft, writeDraft } from './draft.ts'

/**
 * The draft of this tab. It outlives the page that shows it, so that uploads go on meanwhile; it is kept in this tab for reloads
 * and in the browser for the next tab, for each person and organization apart.
 */
let owner: string | null = null
let draft: Draft = emptyDraft()
/** What another draft took the place of; null when there is nothing to bring back. */
let earlier: Draft | null = null
let keeping: ReturnType<typeof setTimeout> | null = null
const listeners = new Set<() => void>()

/** Writes wait this long for the next keystroke. */
const KEEP_MS = 300

export function useDraft(): Draft {
  const { user, organization } = useSession()
  const mine = `${user.id}.${organization.id}`
  if (owner !== mine) openDraft(mine)
  useEffect(() => {
    addEventListener('pagehide', keepDraft)
    return () => removeEventListener('pagehide', keepDraft)
  }, [])
  return useSyncExternalStore(listen, () => draft)
}

export function readCurrentDraft(): Draft {
  return draft
}

export function changeDraft(change: Partial<Draft> | ((draft: Draft) => Partial<Draft>)): void {
  draft = { ...draft, ...(typeof change === 'function' ? change(draft) : change) }
  keeping ??= setTimeout(keepDraft, KEEP_MS)
  for (const heard of listeners) heard()
}

/** Puts another draft in place of this one, which can be brought back, and looks whether its files are still there. */
export function replaceDraft(next: Draft): void {
  earlier = draft.prompt.trim() === '' || draft.prompt === next.prompt ? null : draft
  changeDraft(next)
  void checkFiles()
}

/** The draft that another one took the place of. */
export function useEarlierDraft(): Draft | null {
  return useSyncExternalStore(listen, () => earlier)
}

/** Brings the earlier draft back, or lets it go. */
export function leaveEarlierDraft(restore: boolean): void {
  const back = earlier
  earlier = null
  changeDraft(restore && back ? back : {})
}

/** Changes the files of one place. */
export function changeFiles(slot: Slot, change: (files: Attachment[]) => Attachment[]): void {
  changeDraft(({ files }) => ({ files: { ...files, [slot]: change(files[slot]) } }))
}

/** Changes one file wherever it is by now. */
export function changeFile(key: string, change: Partial<Attachment>): void {
  changeDraft(({ files }) => ({
    files: Object.fromEntries(
      SLOTS.map((slot) => [slot, files[slot].map((file) => (file.key === key ? { ...file, ...change } : file))]),
    ) as Draft['files'],
  }))
}

function openDraft(mine: string): void {
  if (owner !== null && keeping) keepDraft()
  owner = mine
  earlier = null
  draft = readDraft(read(sessionStorageOrNull(), mine)) ?? readDraft(read(localStorageOrNull(), mine)) ?? emptyDraft()
  void checkFiles()
}

function keepDraft(): void {
  if (keeping) clearTimeout(keeping)
  keeping = null
  if (owner === null) return
  const text = writeDraft(draft)
  for (const storage of [sessionStorageOrNull(), localStorageOrNull()]) {
    try {
      storage?.setItem(keyOf(owner), text)
    } catch {
      // Full or closed: the draft lasts as long as the tab.
    }
  }
}

/** Files expire and are deleted: what is gone is marked, so that nobody is told only after sending. */
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

function listen(heard: () => void): () => void {
  listeners.add(heard)
  return () => listeners.delete(heard)
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
