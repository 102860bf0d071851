import type { ReactNode } from 'react'
import { cx } from '../../ui/class-names.ts'

/** The buttons of a message. Shown on hover and focus, always on touch screens and for the last message; the space is always reserved. */
export function TurnActions({ className, children }: { className?: string; children: ReactNode }) {
  return <div className={cx(VISIBILITY, className)}>{children}</div>
}

const VISIBILITY =
  'flex text-muted transition-opacity duration-100 not-pointer-coarse:opacity-0 group-hover/turn:opacity-100 group-focus-within/turn:opacity-100 group-data-last/turn:opacity-100 [&_button]:text-muted [&_button:hover]:text-ink'
