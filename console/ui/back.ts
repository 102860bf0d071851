import { type AnyRouter, useRouter } from '@tanstack/react-router'
import type { MouseEvent } from 'react'

/** The address of each entry of the history that was shown in this tab, by its index. */
const shown = new Map<number, { pathname: string; search: Record<string, unknown> }>()

export function noteHistory(router: AnyRouter): void {
  router.subscribe('onResolved', ({ toLocation: { state, pathname, search } }) => {
    shown.set(state.__TSR_index, { pathname, search })
  })
}

/**
 * The way from an item to its list: back in the history when the person came from there, so that the list has its place and filters;
 * otherwise the list from its start. `onClick` is for a link to the list.
 */
export function useBackTo(to: '/videos' | '/webhooks') {
  const router = useRouter()
  const before = () => shown.get(router.state.location.state.__TSR_index - 1)
  const isBefore = () => before()?.pathname === to
  return {
    onClick(event: MouseEvent) {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || !isBefore()) return
      event.preventDefault()
      router.history.back()
    },
    /** The filters of the list that the person came from; none when they came from elsewhere. */
    filters: (): Record<string, unknown> => (isBefore() ? before()!.search : {}),
    /** Resolves once the list is shown. */
    goBack(): Promise<void> {
      if (!isBefore()) return router.navigate({ to })
      return new Promise((resolve) => {
        const stop = router.subscribe('onResolved', () => {
          stop()
          resolve()
        })
        router.history.back()
      })
    },
  }
}
