import { Dialog } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

type DrawerProps = {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  /** The button that opens it, which takes a ref and props. */
  trigger?: ReactElement
  children: ReactNode
}

/** What stands beside a page on wide screens, slid over it on narrow ones. */
export function Drawer({ open, onOpenChange, title, trigger, children }: DrawerProps) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      {trigger && <Dialog.Trigger asChild>{trigger}</Dialog.Trigger>}
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-appear bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-y-0 start-0 z-50 flex w-[min(18rem,85vw)] animate-slide flex-col overflow-y-auto border-e border-line bg-canvas shadow-float focus:outline-none"
        >
          <Dialog.Title className="sr-only">{title}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
