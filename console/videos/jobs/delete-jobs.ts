import { useQueryClient } from '@tanstack/react-query'
import { deleteWithUndo } from '../../ui/overlay/undo.tsx'
import { videoPath } from './job.ts'
import { forgetJob } from './job-cache.ts'

/** Between two looks for a card, how long any is looked for, and then the one that is deleted, which the list may not have. */
const LOOK_MS = 16
const SHOWN_MS = 2000
const PLACED_MS = 500
const RESTORED_MS = 5000

/**
 * Removes jobs that have ended from the lists, and deletes them unless the person undoes that. The focus, whose button or card is gone, goes to
 * the next card, and to the first of those that come back after an undo.
 */
export function useDeleteJobs(): (ids: readonly [string, ...string[]], text: string) => Promise<void> {
  const queries = useQueryClient()
  return async (ids, text) => {
    const [first, ...others] = ids
    // A gallery that was returned to may not have drawn its cards yet.
    await until(() => document.querySelector('[data-card]') !== null, SHOWN_MS)
    await until(() => cardOf(first) !== null, PLACED_MS)
    const next = nextOf(ids)
    deleteWithUndo({
      paths: [videoPath(first), ...others.map(videoPath)],
      text,
      onDeleted: () => ids.map((id) => forgetJob(queries, id)),
      onRestored: async () => {
        await queries.invalidateQueries({ queryKey: ['videos'] })
        await until(() => ids.some(cardOf), RESTORED_MS)
        await keepFocus(ids, next)
      },
    })
    for (const id of ids) forgetJob(queries, id)
    await until(() => !ids.some(cardOf), SHOWN_MS)
    await keepFocus(next, ids)
  }
}

/** Those that are drawn: the ones behind the first of `ids`, then the ones before it, the nearest first. */
function nextOf(ids: readonly string[]): readonly string[] {
  const drawn = [...document.querySelectorAll<HTMLElement>('[data-card]')].map((card) => card.dataset.card!)
  const at = drawn.findIndex((id) => ids.includes(id))
  return [...drawn.slice(Math.max(at, 0)), ...drawn.slice(0, Math.max(at, 0)).toReversed()].filter(
    (id) => !ids.includes(id),
  )
}

/** Focuses the first of these cards, and again when the title of the page takes the focus from it soon after. */
async function keepFocus(ids: readonly string[], others: readonly string[]): Promise<void> {
  focusFirst(ids, others)
  const hasTitle = () => document.activeElement?.matches('body, [data-page-title]')
  await until(() => {
    if (hasTitle()) focusFirst(ids, others)
    return false
  }, SHOWN_MS)
}

/** Focuses the first of these cards that is drawn, else the page's title, unless the focus has gone on from the `others`. */
function focusFirst(ids: readonly string[], others: readonly string[]): void {
  const { activeElement: active } = document
  const card = active?.closest<HTMLElement>('[data-card]')?.dataset.card
  const isLost = active === document.body || active?.closest('[data-page-title], [data-toasts], [data-select-bar]')
  if (!isLost && !(card && others.includes(card))) return
  const control =
    ids.map((id) => cardOf(id)?.querySelector<HTMLElement>('input[type=checkbox], a:not([inert] *)')).find(Boolean) ??
    document.querySelector<HTMLElement>('[data-page-title]')
  control?.focus({ preventScroll: true })
  control?.scrollIntoView({ block: 'nearest' })
}

function cardOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-card="${id}"]`)
}

async function until(isSo: () => boolean, within_ms: number): Promise<void> {
  for (let waited = 0; waited < within_ms && !isSo(); waited += LOOK_MS)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}
