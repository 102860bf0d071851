import { useSyncExternalStore } from 'react'
import type { Failure } from '../../api/failure.ts'
import { useText } from '../../text/use-text.ts'
import { useFailureTexts } from '../failure-text.ts'
import { type SentDeletions, sendDeletions } from './send-deletions.ts'
import { toast } from './toast.ts'

export type Deletion = {
  /** What is deleted: the paths that take DELETE. */
  paths: readonly [string, ...string[]]
  /** Says that it was deleted. */
  text: string
  /** Updates what is cached, now that it is gone. Until it resolves the paths count as deleted. */
  onDeleted: () => unknown
  /** Shows it again: the person has undone the deletion, or it failed, perhaps in part. */
  onRestored: () => unknown
}

/** Longer than other texts are shown: it asks for something. */
const REMAINING_MS = 10_000

/** Those that can be undone, the oldest first. */
let undoable: readonly Deletion[] = []
/** Paths of those, and of the ones that are being sent. */
let deleting: ReadonlySet<string> = new Set()
const sending = new Set<Promise<void>>()
/** Those that are sent a few at a time. */
const unhurried = new Set<SentDeletions>()
const listeners = new Set<() => void>()

/**
 * Deletes something in ten seconds, or when the page is left, unless the person undoes it. Lists leave it out meanwhile: `useDeleting`. A
 * deletion that fails brings it back and says why.
 */
export function deleteWithUndo(deletion: Deletion): void {
  if (deletion.paths.some((path) => deleting.has(path))) return
  set([...undoable, deletion], [...deleting, ...deletion.paths])
}

/** Paths of what is deleted, or will be unless the person undoes it. */
export function useDeleting(): ReadonlySet<string> {
  return useSyncExternalStore(listen, () => deleting)
}

export function isDeleting(path: string): boolean {
  return deleting.has(path)
}

/** What the person can undo now. */
export function useUndoable(): readonly Deletion[] {
  return useSyncExternalStore(listen, () => undoable)
}

/** Sends every deletion that waits. Call it before the session changes: later ones would fail. */
export async function finishDeletions(): Promise<void> {
  for (const deletion of undoable) send(deletion)
  for (const sent of unhurried) sent.rush()
  await Promise.all(sending)
}

// Not where the toasts are drawn, whose code may be missing.
addEventListener('pagehide', () => void finishDeletions())

export function undo(deletion: Deletion): void {
  forget(deletion)
  deletion.onRestored()
}

/** Sends one that can still be undone. */
export function send(deletion: Deletion): void {
  if (!undoable.includes(deletion)) return
  set(without(undoable, deletion), [...deleting])
  const sent = remove(deletion).finally(() => sending.delete(sent))
  sending.add(sent)
}

async function remove(deletion: Deletion): Promise<void> {
  let announced = false
  const sent = sendDeletions(deletion.paths, (count) => {
    if (!announced) toast(<StillDeleting count={count} />, 'success', REMAINING_MS)
    announced = true
  })
  unhurried.add(sent)
  const failures = await sent.failures
  unhurried.delete(sent)
  if (failures[0]) {
    undo(deletion)
    return void toast(<NotDeleted error={failures[0]} count={failures.length} of={deletion.paths.length} />, 'danger')
  }
  await deletion.onDeleted()
  forget(deletion)
}

function forget(deletion: Deletion): void {
  set(
    without(undoable, deletion),
    [...deleting].filter((path) => !deletion.paths.includes(path)),
  )
}

function without(deletions: readonly Deletion[], one: Deletion): readonly Deletion[] {
  return deletions.filter((each) => each !== one)
}

function set(next: readonly Deletion[], paths: readonly string[]): void {
  undoable = next
  deleting = new Set(paths)
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function StillDeleting({ count }: { count: number }) {
  const t = useText('kit')
  return t('still_deleting', { count })
}

function NotDeleted({ error, count, of: total }: { error: Failure; count: number; of: number }) {
  const t = useText('kit')
  const what = total === 1 ? t('not_deleted') : t('not_deleted_of', { n: count, total })
  return `${what} ${useFailureTexts()(error)}`
}
