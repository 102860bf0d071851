import { useState } from 'react'
import { focusTitle } from '../title-focus.ts'

/** The element that had the focus when a dialog opened, followed by the openers of the dialogs and menus around it. */
type Openers = readonly HTMLElement[]

const openersOf = new WeakMap<Element, Openers>()

/**
 * For a dialog without a trigger of its own: remembers what had the focus when it opened. `noteDialog` is the ref of the dialog's
 * element; `restore` returns the focus once it has closed.
 */
export function useOpener(open: boolean): {
  noteDialog: (dialog: HTMLElement | null) => void
  restore: (event: Event) => void
} {
  const [before, setBefore] = useState<{ open: boolean; openers: Openers }>({ open: false, openers: [] })
  // Read while rendering: once the dialog is in the page, a field in it may have taken the focus.
  if (open !== before.open) setBefore({ open, openers: open ? focused() : before.openers })
  return {
    noteDialog: (dialog) => void (dialog && openersOf.set(dialog, before.openers)),
    restore(event) {
      event.preventDefault()
      const opener = before.openers.find((each) => each.isConnected && each.checkVisibility())
      // A dialog that follows this one keeps the focus and returns it when it closes.
      const other = document.querySelector('[role="dialog"]')
      if (other) return other.contains(opener ?? null) ? opener?.focus() : undefined
      if (opener) opener.focus()
      else focusTitle()
    },
  }
}

function focused(): Openers {
  const active = document.activeElement
  if (!(active instanceof HTMLElement) || active === document.body) return []
  const menu = active.closest('[role="menu"]')
  const trigger = menu && document.getElementById(menu.getAttribute('aria-labelledby') ?? '')
  const dialog = (trigger ?? active).closest('[role="dialog"]')
  return [trigger ?? active, ...(dialog ? (openersOf.get(dialog) ?? []) : [])]
}
