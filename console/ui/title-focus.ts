import { type RefObject, useLayoutEffect, useRef } from 'react'

/** A page was opened whose title is not there yet. */
let awaited = false

/** After a page was opened: a reader of the screen hears where they are now, and Tab goes on from there. */
export function focusTitle(): void {
  const title = document.querySelector<HTMLElement>('[data-page-title]')
  if (title) title.focus({ preventScroll: true })
  awaited = !title
}

/** For the heading with `data-page-title`: takes the focus when its page came late, or in place of a heading that had it. */
export function useTitleFocus(): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    const own = heading.current
    if (awaited) own?.focus({ preventScroll: true })
    awaited = false
    return () => {
      awaited = own !== null && document.activeElement === own
    }
  }, [])
  return heading
}
