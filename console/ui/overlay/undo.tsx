import { Toast as Radix } from 'radix-ui'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../button.tsx'
import { useFailureTexts } from '../failure-text.ts'
import { toast } from './toast.tsx'

/** How long a deletion can be undone. */
const UNDO_SECONDS = 10

export type Deletion = {
  /** What is deleted: the path that takes DELETE. */
  path: string
  /** Says that it was deleted. */
  text: string
  /** Updates what is cached, now that it is gone. Until it resolves the path counts as deleted. */
  onDeleted: () => unknown
  /** Shows it again: the person has undone the deletion, or it failed. */
  onRestored: () => unknown
}

/** Those that can be undone, the oldest first. */
let undoable: readonly Deletion[] = []
/** Paths of those, and of the ones that are being sent. */
let deleting: ReadonlySet<string> = new Set()
const sending = new Set<Promise<void>>()
const listeners = new Set<() => void>()

/**
 * Deletes something in ten seconds, or when the page is left, unless the person undoes it. Lists leave it out meanwhile: `useDeleting`. A
 * deletion that fails brings it back and says why.
 */
export function deleteWithUndo(deletion: Deletion): void {
  if (deleting.has(deletion.path)) return
  set([...undoable, deletion], [...deleting, deletion.path])
}

/** Paths of what is deleted, or will be unless the person undoes it. */
export function useDeleting(): ReadonlySet<string> {
  return useSyncExternalStore(listen, () => deleting)
}

export function isDeleting(path: string): boolean {
  return deleting.has(path)
}

/** Sends every deletion that waits. Call it before the session changes: later ones would fail. */
export async function finishDeletions(): Promise<void> {
  for (const deletion of undoable) send(deletion)
  await Promise.all(sending)
}

function undo(deletion: Deletion): void {
  forget(deletion)
  deletion.onRestored()
}

function send(deletion: Deletion): void {
  if (!undoable.includes(deletion)) return
  set(without(undoable, deletion), [...deleting])
  const sent = remove(deletion).finally(() => sending.delete(sent))
  sending.add(sent)
}

async function remove(deletion: Deletion): Promise<void> {
  try {
    // Goes on although the page is left.
    await request('DELETE', deletion.path, { keepalive: true })
  } catch (error) {
    if (failureOf(error).status !== 404) {
      undo(deletion)
      return toast(<NotDeleted error={error} />, 'danger')
    }
  }
  await deletion.onDeleted()
  forget(deletion)
}

function forget(deletion: Deletion): void {
  set(
    without(undoable, deletion),
    [...deleting].filter((path) => path !== deletion.path),
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

function NotDeleted({ error }: { error: unknown }) {
  const t = useText('kit')
  return `${t('not_deleted')} ${useFailureTexts()(error)}`
}

/** A toast for each deletion that can be undone. Within `Toasts`. */
export function UndoToasts() {
  const deletions = useSyncExternalStore(listen, () => undoable)
  useEffect(() => {
    const finish = () => void finishDeletions()
    addEventListener('pagehide', finish)
    return () => removeEventListener('pagehide', finish)
  }, [])
  return deletions.map((deletion) => <UndoToast key={deletion.path} deletion={deletion} />)
}

/** Counts down, but while it has the focus: whoever has reached the button has time to press it. */
function UndoToast({ deletion }: { deletion: Deletion }) {
  const t = useText('kit')
  const [seconds, setSeconds] = useState(UNDO_SECONDS)
  const [paused, setPaused] = useState(false)
  useEffect(() => {
    if (paused) return
    const timer = setInterval(() => setSeconds((now) => now - 1), 1000)
    return () => clearInterval(timer)
  }, [paused])
  useEffect(() => {
    if (seconds <= 0) send(deletion)
  }, [seconds, deletion])
  return (
    <Radix.Root
      duration={Number.POSITIVE_INFINITY}
      onOpenChange={(open) => !open && send(deletion)}
      onEscapeKeyDown={(event) => event.preventDefault()}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
      className="flex w-full animate-rise items-center gap-3 rounded-xl border border-line bg-raised py-2 ps-4 pe-2 text-sm shadow-float"
    >
      <Radix.Title className="line-clamp-2 grow [overflow-wrap:anywhere]">{deletion.text}</Radix.Title>
      <Radix.Action asChild altText={t('undo_hint')}>
        <Button size="sm" onClick={() => undo(deletion)}>
          {t('undo')}
          <span aria-hidden className="text-muted tabular-nums">
            {seconds}
          </span>
        </Button>
      </Radix.Action>
    </Radix.Root>
  )
}
