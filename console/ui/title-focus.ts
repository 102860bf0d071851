import { type RefObject, useLayoutEffect, useRef } from 'react'

/** A page was opened and its title has not been rendered yet. */
let awaited = false

/**
 * Focuses the title of a page that was opened, so that a screen reader announces it and Tab continues from there. A field that the page
 * focused itself keeps the focus, as does a button that leads on from page to page, marked `data-keeps-focus`.
 */
export function focusTitle(): void {
  if (document.activeElement?.closest('main :is(input, textarea, [data-keeps-focus])')) return
  const title = document.querySelector<HTMLElement>('[data-page-title]')
  if (title) title.focus({ preventScroll: true })
  awaited = !title
}

/** For the heading with `data-page-title`: takes the focus when it renders late, or replaces a heading that had it. */
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
