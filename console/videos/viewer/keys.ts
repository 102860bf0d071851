import { useEffect, useRef } from 'react'

/** Where keys have a meaning of their own. */
const TYPED = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'
const MOVED = '[role=slider], [role=radio], [role=tab], [role=menuitem], [role=option]'
const PRESSED = 'button, a, summary, [role=button], video'

/** A click on a clip focuses it too; only somebody who went there by keyboard means its own controls. */
let tabbed = false
for (const type of ['pointerdown', 'keydown'])
  addEventListener(
    type,
    (event) => {
      if (event instanceof KeyboardEvent ? event.key === 'Tab' : true) tabbed = event.type === 'keydown'
    },
    { capture: true },
  )

/**
 * Does what a key is for, except where the key is needed and while a dialog or menu is open. Letters and signs act only while the focus is
 * in the viewer (WCAG 2.1.4), the others wherever it is.
 */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions)
  useEffect(() => {
    latest.current = actions
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event
      const action = latest.current[key.length === 1 ? key.toLowerCase() : key]
      if (!action || event.defaultPrevented || ctrlKey || metaKey || altKey || event.isComposing) return
      // Shift types < and >; with any other key it means something else, such as selecting.
      if (shiftKey && key !== '<' && key !== '>') return
      const place = target instanceof Element ? target : document.body
      if (place.closest(TYPED) || document.querySelector('[role=dialog], [role=menu]')) return
      if (/^[^ ]$/.test(key) && !place.closest('[data-viewer]')) return
      if (key.startsWith('Arrow') && (place.closest(MOVED) || (tabbed && place.closest('video')))) return
      if (key === ' ' && place.closest(PRESSED)) return
      event.preventDefault()
      action()
    }
    // Before the controls of the browser, which a click on the clip has focused.
    addEventListener('keydown', onKeyDown, { capture: true })
    return () => removeEventListener('keydown', onKeyDown, { capture: true })
  }, [])
}
